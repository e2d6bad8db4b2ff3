"""`python -m benchmarks soak`: trains while everything goes wrong, and expects the same bits.

Runs are trained from the command line, in processes of their own. Meanwhile workers and
coordinators are killed, stopped and starved of disk space, and files are damaged, all drawn from a
seed. Each run must end like an undisturbed one, and leave no process and no shared memory behind.
"""

import argparse
import itertools
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.evidence import Evidence, differences, evidence, shared_memory
from benchmarks.faults import (
    AFTER,
    DAMAGES,
    ENDING,
    ENDS,
    KINDS,
    MARK,
    Fault,
    Training,
    generation_of,
    marked,
    plan,
)
from nses.experiment.runs.storage import CheckpointRefused

COURSES = {  # task → settings
    "point-trap": "--algorithm nsra-es --seed 1 --n 100 --generations 300 --max-steps 100",
    "swimmer-trap": "--algorithm nsr-es --seed 2 --n 8 --generations 80 --max-steps 100",
    "Pendulum-v1": "--algorithm es --seed 3 --n 8 --generations 80 --max-steps 40",
}
COMMON = (
    "--workers 2 --deadline 5 --checkpoint-seconds 0.3 --evaluation-episodes 2 --retest-episodes 4 "
    "--no-tensorboard --no-pictures"
)
PATIENCE = 180.0  # seconds without a new generation after which a run counts as hanging
LEAVING = 20.0  # seconds that workers may outlive their coordinator on a busy machine
EXITS = {0, 4, 130, 143, -2, -9, -15}  # negative: before the command started, or after its end


@dataclass
class Tally:
    """What happened so far."""

    faults: Counter[str] = field(default_factory=Counter)
    resumes: int = 0
    runs: int = 0
    gaps: int = 0  # generations whose log lines were lost to a full disk
    longest: tuple[float, str] = (0.0, "-")
    failures: list[str] = field(default_factory=list)


def start(words: list[str], home: Path, mark: str) -> Training:
    """Start a command in a process group of its own, with a pipe as its standard output."""
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    with (home.parent / f"{home.name}.errors").open("ab") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "nses", *words],
            stdin=subprocess.DEVNULL,
            stdout=writer,
            stderr=errors,
            env={**os.environ, MARK: mark},
            start_new_session=True,
        )
    os.close(writer)
    return Training(home, process, mark, reader)


def train_words(task: str, home: Path) -> list[str]:
    return ["train", task, *COURSES[task].split(), *COMMON.split(), "--run-dir", str(home)]


class Soak:
    """Trains one run after the other under faults; owns all processes that it starts."""

    def __init__(self, home: Path, seed: int, seconds: float, tasks: list[str]):
        self.home, self.tasks = home, tasks
        self.seconds, self.end = seconds, 0.0
        self.faults: Iterator[Fault] = plan(seed)
        self.tally = Tally()
        self.mark = secrets.token_hex(8)
        self.right: dict[str, Evidence] = {}

    def run(self) -> Tally:
        try:
            for task in self.tasks:
                self.right[task] = self._undisturbed(task)
            self.end = time.monotonic() + self.seconds
            for number, task in enumerate(itertools.cycle(self.tasks)):
                self._disturbed(task, self.home / f"{number}-{task}")
                if time.monotonic() > self.end:
                    break
        finally:
            for pid in marked(self.mark):
                with suppress(ProcessLookupError):
                    os.kill(pid, 9)
        return self.tally

    def _undisturbed(self, task: str) -> Evidence:
        home = self.home / f"undisturbed-{task}"
        training = start(train_words(task, home), home, self.mark)
        try:
            code = self._wait(training)
        finally:
            training.close()
        if code:
            raise SystemExit(f"{task} cannot be trained: exit {code}\n{_errors(home)}")
        return evidence(home)

    def _disturbed(self, task: str, home: Path) -> None:
        """Train one run from beginning to end, in as many processes as it takes."""
        words, failures = train_words(task, home), len(self.tally.failures)
        while True:
            training = start(words, home, self.mark)
            try:
                code = self._torment(training)
            finally:
                training.close()
            self._check_left(home, training)
            if code not in EXITS:
                self._fail(home, f"exit {code}")
                return
            if code == 0:
                break
            self.tally.resumes += 1
            words = self._next_words(task, home)
        self._spoil(home)
        if len(self.tally.failures) == failures:
            self._compare(task, home)

    def _next_words(self, task: str, home: Path) -> list[str]:
        """The command to continue: resume, once there is a checkpoint."""
        begun = any(home.glob("checkpoints/[0-9]*"))
        return ["resume", str(home)] if begun else train_words(task, home)

    def _torment(self, training: Training) -> int:
        """Cause faults until the process ends; returns its exit code."""
        low = generation_of(training.home)
        since, cause = time.monotonic(), "start"
        while time.monotonic() < self.end:
            fault = next(self.faults)
            if fault.patient:
                self._advance(training, low, since, cause)
            self._pause(training, fault.pause)
            if training.process.poll() is not None:
                return self._wait(training)
            low = generation_of(training.home)
            if KINDS[fault.kind](training, fault):
                self.tally.faults[fault.kind] += 1
                since, cause = time.monotonic(), fault.kind
            if fault.kind in ENDING:
                code = self._wait(training, ENDS)
                self._damage(training.home, fault)
                return code
        return self._wait(training)

    def _advance(self, training: Training, low: int, since: float, cause: str) -> None:
        """Wait for a new generation, which means that the run has recovered."""
        while training.process.poll() is None:
            now = generation_of(training.home)
            low = min(low, now)
            if now > low:
                took = time.monotonic() - since
                self.tally.longest = max(self.tally.longest, (took, cause))
                return
            if time.monotonic() - since > PATIENCE:
                self._fail(training.home, f"no generation in {PATIENCE:.0f} s after {cause}")
                training.process.kill()
            self._pause(training, 0.05)

    def _pause(self, training: Training, seconds: float) -> None:
        end = time.monotonic() + seconds
        while training.process.poll() is None and time.monotonic() < end:
            training.drain()
            time.sleep(0.02)

    def _wait(self, training: Training, seconds: float = 3 * PATIENCE) -> int:
        """Give a process time to end by itself; returns its exit code."""
        self._pause(training, seconds)
        if training.process.poll() is None:
            self._fail(training.home, f"did not end within {seconds:.0f} s")
            training.process.kill()
        return training.process.wait()

    def _damage(self, home: Path, fault: Fault) -> None:
        if fault.damage is not None:
            done = DAMAGES[fault.damage](home, fault.number)
            self.tally.faults[fault.damage] += done

    def _spoil(self, home: Path) -> None:
        """Damage a finished run, and resume it, which must repair it."""
        fault = next(self.faults)
        name = sorted(AFTER)[fault.number % len(AFTER)]
        if not AFTER[name](home, fault.number):
            return
        self.tally.faults[name] += 1
        training = start(["resume", str(home)], home, self.mark)
        try:
            code = self._wait(training)
        finally:
            training.close()
        self.tally.resumes += 1
        if code:
            self._fail(home, f"exit {code} of resume after: {name}")

    def _compare(self, task: str, home: Path) -> None:
        self.tally.runs += 1
        try:
            found = evidence(home)
        except (CheckpointRefused, OSError, ValueError) as error:
            self._fail(home, f"cannot be read: {error}")
            return
        different = differences(found, self.right[task])
        self.tally.gaps += len(found.gaps)
        if different:
            self._fail(home, f"differs from the undisturbed run in {', '.join(different)}")
        else:
            shutil.rmtree(home)

    def _check_left(self, home: Path, training: Training) -> None:
        """Check that none of its processes outlives it for long."""
        end = time.monotonic() + LEAVING
        while (left := marked(self.mark)) and time.monotonic() < end:
            time.sleep(0.05)
        for pid in left:
            self._fail(home, f"process {pid} is still running")
            with suppress(ProcessLookupError):
                os.kill(pid, 9)

    def _fail(self, home: Path, what: str) -> None:
        happened = dict(self.tally.faults)
        self.tally.failures.append(f"{home.name}: {what}\n{_errors(home)}\n  after {happened}")
        print(f"FAILED {home.name}: {what}\n{_errors(home)}", flush=True)


def _errors(home: Path) -> str:
    path = home.parent / f"{home.name}.errors"
    text = path.read_text(errors="replace") if path.exists() else ""
    return "\n".join(text.splitlines()[-25:])


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser("python -m benchmarks soak", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600.0, help="how long faults go on (600)")
    parser.add_argument("--seed", type=int, default=0, help="another seed gives other faults (0)")
    parser.add_argument("--tasks", nargs="+", choices=sorted(COURSES), default=list(COURSES))
    parser.add_argument("--directory", type=Path, default=None, help="keep the runs here")
    given = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # exiting ends all processes
    before, began = shared_memory(), time.monotonic()
    home = given.directory or Path(tempfile.mkdtemp(prefix="nses-soak-"))
    home.mkdir(parents=True, exist_ok=True)
    soak = Soak(home.resolve(), given.seed, given.seconds, given.tasks)
    try:
        tally = soak.run()
    finally:
        if given.directory is None and not soak.tally.failures:
            shutil.rmtree(home, ignore_errors=True)
    for name in sorted(shared_memory() - before):
        tally.failures.append(f"/dev/shm/{name} was left behind")
    _show(tally, given.seed, time.monotonic() - began)
    if tally.failures and given.directory is None:
        print(f"the runs are kept in {home}")
    return 1 if tally.failures else 0


def _show(tally: Tally, seed: int, seconds: float) -> None:
    print("| fault | times |\n|---|---|")
    for name, times in sorted(tally.faults.items()):
        print(f"| {name} | {times} |")
    equal = "equal" if not tally.failures else "NOT EQUAL, or worse"
    took, cause = tally.longest
    print(f"| all faults | {tally.faults.total()} |")
    print(f"| resumes | {tally.resumes} |")
    print(f"| longest recovery | {took:.1f} s ({cause}) |")
    print(f"| runs ended, digest {equal} | {tally.runs} |")
    print(f"| generations missing from the logs (full disk) | {tally.gaps} |")
    for failure in tally.failures:
        print(f"\nFAILED {failure}")
    print(f"seed {seed}: {tally.faults.total()} faults in {seconds:.0f} s")
