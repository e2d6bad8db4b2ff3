"""Runs side by side, each in its own process; none outlives the process that started it."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Console
from rich.text import Text

from nses.errors import RunsFailed, Stopped
from nses.execution.cpus import ONE_THREAD
from nses.execution.one_cluster import answers
from nses.execution.sharing import Board
from nses.execution.spawn import signal_name
from nses.experiment.interruption import Interruption
from nses.experiment.runs.log import METRICS, numbers_in
from nses.experiment.runs.storage import CheckpointRefused, regular_file
from nses.experiment.settings.command import train_words
from nses.experiment.settings.config import Config, to_dict

POLL_SECONDS = 0.2
PATIENCE = 8.0  # seconds that stopped runs have, together, to write their checkpoints
LAST_LINES = 8  # of a run's messages
TAIL = 64 << 10  # bytes: enough of the end of metrics.jsonl to hold its last line

CHILD = Path(__file__).with_name("child.py")


@dataclass(frozen=True)
class Job:
    """A run to train: its settings and its directory."""

    config: Config
    directory: Path

    @property
    def name(self) -> str:
        return f"{self.directory.parent.name}/{self.directory.name}"

    def settings(self, cpus: int | None) -> Config:
        """The run's settings, with its directory and all CPUs that it may use."""
        return replace(self.config, run_dir=str(self.directory), pictures=False, workers=cpus)


@dataclass(frozen=True)
class Place:
    """What all runs share."""

    side_by_side: int  # runs at a time
    cpus: int | None  # of this machine, or of a cluster; None: all
    cluster: str | None = None  # its address


@dataclass(frozen=True)
class Reached:
    """How far a run has got."""

    generation: int = 0
    best: float | None = None
    done: bool = False


Progress = dict[Job, Reached]


def reached(directory: Path, done: bool = False) -> Reached:
    """The last generation in metrics.jsonl, read from the end of the file."""
    try:
        with regular_file(directory / METRICS) as (file, size):
            file.seek(max(0, size - TAIL))
            lines = file.read(TAIL).splitlines()
    except CheckpointRefused:  # unreadable, or not there yet
        return Reached(done=done)
    for line in reversed(lines):
        record = numbers_in(line)
        if record is not None and "generation" in record:  # else cut off, or the mark of a gap
            return Reached(int(record["generation"]), record.get("best"), done)
    return Reached(done=done)


class Child:
    """A run in its own process, in our process group; its messages are kept in a file."""

    def __init__(self, job: Job, place: Place, board: Board):
        self.job = job
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115  (until `close`)
        config = job.settings(place.cpus)
        command = ["nses", *train_words(config), "--run-dir", str(job.directory)]
        told = {
            "path": [*map(str, sys.path)],
            "command": command,
            "config": to_dict(config),
            "board": board.descriptor,
            "cluster": place.cluster,
        }
        with tempfile.TemporaryFile("w+") as file:
            json.dump(told, file)
            file.seek(0)
            self.process = subprocess.Popen(
                # -P: modules in the working directory must not replace Python's own.
                [sys.executable, "-P", str(CHILD), str(os.getpid())],
                stdin=file,
                stdout=subprocess.DEVNULL,
                stderr=self.errors,
                pass_fds=(board.descriptor,),
                env={**os.environ, **ONE_THREAD},
            )

    def fault(self) -> str | None:
        """How it failed, "" if it ended well, None while it runs."""
        code = self.process.poll()
        if code is None:
            return None
        if code < 0:
            return f"killed by {signal_name(-code)}"
        return f"exit code {code}" if code else ""

    def last_words(self) -> list[str]:
        self.errors.seek(0)
        return self.errors.read().decode(errors="replace").splitlines()[-LAST_LINES:]

    def close(self, end: float) -> None:
        """Wait for it to end, and kill it if it has not by `end` (monotonic)."""
        try:
            self.process.wait(max(0.0, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.errors.close()


def train_all(
    jobs: Sequence[Job],
    progress: Progress,
    place: Place,
    update: Callable[[Progress], None],
    console: Console,
) -> None:
    """Train all jobs, in order; when all have ended, RunsFailed names those that failed.

    Some run at a time, sharing the CPUs: the fewer runs are left, the more workers each has. If
    the cluster is gone, no more are started.

    `update` is called with their `progress` several times a second. Ctrl-C and SIGTERM stop
    every run at a checkpoint, then raise KeyboardInterrupt or Stopped.
    """
    waiting = deque(job for job in jobs if not progress[job].done)
    failed: dict[str, tuple[str, int]] = {}  # by name: how it ended, and its exit code
    with Interruption() as stop, closing(Board()) as board, _children() as children:
        while waiting or children:
            board.write(min(place.side_by_side, len(children) + len(waiting)))
            while waiting and len(children) < place.side_by_side:
                children.append(Child(waiting.popleft(), place, board))
            time.sleep(POLL_SECONDS)
            if stop():
                break
            for child in list(children):
                fault = child.fault()
                progress[child.job] = reached(child.job.directory, done=fault == "")
                if fault is not None:
                    children.remove(child)
                    _report(child, fault, console)
                    child.close(end=0.0)
                if fault:
                    failed[child.job.name] = (fault, child.process.returncode)
                    if waiting and place.cluster and not answers(place.cluster):
                        _say_gone(place.cluster, len(waiting), console)
                        waiting.clear()
            update(progress)
    if stop.signum is not None:
        raise KeyboardInterrupt if stop.signum == signal.SIGINT else Stopped(stop.signum)
    if failed:
        raise RunsFailed(len(jobs), failed)


@contextmanager
def _children() -> Iterator[list[Child]]:
    """A list of processes, which are ended when the context is left, whatever happened."""
    children: list[Child] = []
    try:
        yield children
    finally:
        for child in children:
            child.process.terminate()
        end = time.monotonic() + PATIENCE
        for child in children:
            child.close(end)


def _say_gone(cluster: str, waiting: int, console: Console) -> None:
    runs = "1 more run is" if waiting == 1 else f"{waiting} more runs are"
    text = f"the Ray cluster at {cluster} does not answer any more: {runs} not started"
    console.print(Text(text, "bold red"), soft_wrap=True)


def _report(child: Child, fault: str, console: Console) -> None:
    """Show the messages of a child that has ended: why it failed, or its warnings."""
    lines = child.last_words()
    if fault:
        console.print(Text(f"{child.job.name} failed: {fault}", "bold red"))
    elif lines:
        console.print(Text(f"messages from {child.job.name}:", "bold"))
    for line in lines:
        console.print(Text("  " + line), soft_wrap=True)
