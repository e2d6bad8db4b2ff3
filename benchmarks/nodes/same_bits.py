"""Runs on two nodes have the bits of the same run in one process, whatever happens to them.

Nothing here depends on the speed of the machine. A run lasts until what happened to it has shown,
and a few generations more; then it is stopped. The run in one process is trained up to every
generation at which another stopped, and the digests are compared there.
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import nses
from benchmarks.faults import generation_of
from benchmarks.foundation import Measure
from benchmarks.nodes.breaking import PATIENCE, wait_for
from benchmarks.nodes.cluster import Cluster, cluster_of_two, namespaces
from benchmarks.nodes.faults import players
from nses.experiment.runs.checkpoint import VOLATILE

COMMON = ["--recipe", "smoke", "--seed", "1", "--no-tensorboard", "--no-pictures"]
ENDLESS = ["--generations", "1000000", "--checkpoint-seconds", "0"]
HERE = ["--backend", "processes", "--workers", "2"]
BEFORE = AFTER = 2  # generations to see before something happens, and after it has shown
STOPPED = -signal.SIGKILL, 128 + signal.SIGTERM


class Training:
    """A run on a cluster, and what it says."""

    def __init__(self, cluster: Cluster, task: str, home: Path):
        self.cluster, self.home, self.file = cluster, home, home.with_suffix(".said")
        where = ["--backend", "ray", "--ray-address", cluster.address, "--run-dir", str(home)]
        words = ["train", task, *COMMON, *ENDLESS, *where]
        self.process = start(words, self.file, cluster.enter, cluster.environment)
        self.players: set[int] = set()  # foremen that were seen playing

    @property
    def said(self) -> str:
        return self.file.read_text(errors="replace")

    @property
    def over(self) -> bool:
        return self.process.poll() is not None

    def advance(self, generations: int) -> None:
        """Waits for more generations."""
        end = generation_of(self.home) + generations
        wait_for(lambda: generation_of(self.home) >= end or self.over)

    def stop(self) -> None:
        """Ends it, if it has not been killed, and RuntimeError if it ended in any other way."""
        self.process.terminate()
        code = self.process.wait(PATIENCE)
        if code not in STOPPED:
            raise RuntimeError(f"it ended with exit code {code}")


# What happens, and how it shows.


@dataclass(frozen=True)
class Event:
    name: str
    happens: Callable[[Training], object]
    shows: Callable[[Training], bool]


def _missed(training: Training) -> bool:
    return " is lost: " in training.said


def _three_have_played(training: Training) -> bool:
    training.players |= {*players(training.cluster, b"ray::Foreman.play")}
    return len(training.players) > 2


UNDISTURBED = Event("undisturbed", lambda training: None, lambda training: True)
CUT = Event("the link to a node is cut", lambda training: training.cluster.tell("cut"), _missed)
EVENTS = (
    UNDISTURBED,
    Event("a node joins", lambda training: training.cluster.tell("add"), _three_have_played),
    Event("a raylet is killed", lambda training: training.cluster.tell("kill"), _missed),
    Event(
        "the driver is killed, resumed with --backend processes",
        lambda training: training.process.kill(),
        lambda training: training.over,
    ),
)


@dataclass(frozen=True)
class Ended:
    """A run that something has happened to."""

    event: Event
    home: Path

    @property
    def generation(self) -> int:
        return nses.load(self.home).state.generation


def same_bits(task: str) -> Iterator[Measure]:
    """A row for every event: 1 if the digest is that of `--backend serial`."""
    apart = bool(namespaces())
    if not apart:
        print("links are not cut: network namespaces are not allowed here", flush=True)
    with tempfile.TemporaryDirectory(prefix="nses-") as folder:
        ended: list[Ended] = []
        for number, event in enumerate([*EVENTS, CUT] if apart else EVENTS):
            home, began = Path(folder) / f"run-{number}", time.monotonic()
            try:
                with cluster_of_two(apart) as cluster:
                    disturb(cluster, task, home, event)
            except (RuntimeError, TimeoutError, subprocess.TimeoutExpired) as error:
                print(f"{task}, {event.name}: {error}\n{last_words(home)}", flush=True)
                yield measure(task, event, same=False)
                continue
            ended.append(Ended(event, home))
            seconds, reached = time.monotonic() - began, ended[-1].generation
            print(f"{task}, {event.name}: generation {reached}, {seconds:.0f} s", flush=True)
        yield from compared(task, ended, Path(folder) / "serial")


def disturb(cluster: Cluster, task: str, home: Path, event: Event) -> None:
    """Trains until an event has shown and the run has gone on, wherever it goes on."""
    with trained(cluster, task, home) as training:
        training.advance(BEFORE)
        event.happens(training)
        wait_for(lambda: event.shows(training) or training.over)
        training.advance(AFTER)
        training.stop()
    if training.process.returncode == -signal.SIGKILL:
        end = str(generation_of(home) + AFTER)
        run(["resume", str(home), *HERE, "--generations", end], training.file)


@contextmanager
def trained(cluster: Cluster, task: str, home: Path) -> Iterator[Training]:
    training = Training(cluster, task, home)
    try:
        yield training
    finally:
        training.process.kill()
        training.process.wait()


def compared(task: str, ended: list[Ended], home: Path) -> Iterator[Measure]:
    """Against a run in one process, which goes on from one of them to the next."""
    for one in sorted(ended, key=lambda one: one.generation):
        until = ["--generations", str(one.generation), "--backend", "serial"]
        train = ["train", task, *COMMON, *until, "--run-dir", str(home)]
        run(["resume", str(home), *until] if home.exists() else train, home.with_suffix(".said"))
        found, right = nses.load(one.home), nses.load(home)
        same = found.digest == right.digest
        if not same:
            print(f"{task}, {one.event.name}: {difference(found, right)}", flush=True)
        yield measure(task, one.event, same)


def measure(task: str, event: Event, same: bool) -> Measure:
    what = f"{task}, {event.name}: the digest of --backend serial"
    return Measure(what, same, "", "= 1", same)


def difference(found: nses.Run, right: nses.Run) -> str:
    """Where two runs of the same length first differ."""
    for ours, theirs in zip(found.metrics, right.metrics, strict=False):
        names = [name for name in theirs if ours.get(name) != theirs[name]]
        if names := [name for name in names if name not in VOLATILE]:
            return f"generation {theirs['generation']} differs in {', '.join(names)}"
    return "the metrics are the same, but not the parameters or the archive"


# Commands.


def run(words: list[str], said: Path) -> None:
    code = start(words, said).wait()
    if code:
        raise RuntimeError(f"exit code {code} of nses {' '.join(words)}")


def start(
    words: list[str],
    said: Path,
    enter: list[str] | None = None,
    environment: dict[str, str] | None = None,
) -> subprocess.Popen[bytes]:
    with said.open("ab") as file:
        return subprocess.Popen(
            [*(enter or []), sys.executable, "-m", "nses", *words],
            env={**os.environ, **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
        )


def last_words(home: Path) -> str:
    file = home.with_suffix(".said")
    text = file.read_text(errors="replace") if file.exists() else ""
    return "\n".join(f"    {line}" for line in text.splitlines()[-12:])
