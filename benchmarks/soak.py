"""`python -m benchmarks soak`: trains while everything goes wrong, and expects the same bits.

Runs are trained from the command line, in processes of their own. Meanwhile workers and
coordinators are killed, stopped and starved of disk space, and files are damaged, all drawn from a
seed. On a cluster, so are foremen and raylets, links are cut and nodes join. Each run must end like
an undisturbed one, and leave no process and no shared memory behind.
"""

import argparse
import itertools
import os
import secrets
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.evidence import Evidence, differences, evidence, shared_memory
from benchmarks.faults import (
    AFTER,
    DAMAGES,
    ENDING,
    ENDS,
    Fault,
    Training,
    described,
    generation_of,
    marked,
    plan,
)
from benchmarks.stage import COURSES, HERE, ON_THIS_MACHINE, Stage, on_a_cluster
from nses.experiment.runs.storage import CheckpointRefused

PATIENCE = 180.0  # seconds without a new generation after which a run counts as hanging
STAGES = {"machine": lambda: nullcontext(ON_THIS_MACHINE), "cluster": on_a_cluster}
WHERE = "on this machine alone, on a cluster of two nodes, or half of the time each (both)"
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


class Soak:
    """Trains one run after the other under faults; owns all processes that it starts."""

    def __init__(self, home: Path, seed: int, tasks: list[str], tally: Tally):
        self.home, self.seed, self.tasks, self.tally = home, seed, tasks, tally
        self.stage, self.end = ON_THIS_MACHINE, 0.0
        self.faults: Iterator[Fault] = iter(())
        self.mark = secrets.token_hex(8)
        self.right: dict[str, Evidence] = {}
        self.numbers = itertools.count()

    def run(self, stage: Stage, seconds: float) -> None:
        try:
            for task in self.tasks:
                self.right[task] = self.right.get(task) or self._undisturbed(task)
            self.stage, self.faults = stage, plan(self.seed, stage.kinds)
            self.end = time.monotonic() + seconds
            for task in itertools.cycle(self.tasks):
                self._disturbed(task, self.home / f"{next(self.numbers)}-{task}")
                if time.monotonic() > self.end:
                    break
        finally:
            for pid in marked(self.mark):
                with suppress(ProcessLookupError):
                    os.kill(pid, 9)

    def _undisturbed(self, task: str) -> Evidence:
        home = self.home / f"undisturbed-{task}"
        training = ON_THIS_MACHINE.start(ON_THIS_MACHINE.train(task, home), home, self.mark)
        try:
            code = self._wait(training)
        finally:
            training.close()
        if code:
            raise SystemExit(f"{task} cannot be trained: exit {code}\n{_errors(home)}")
        return evidence(home)

    def _disturbed(self, task: str, home: Path) -> None:
        """Train one run from beginning to end, in as many processes as it takes."""
        words, failures = self.stage.train(task, home), len(self.tally.failures)
        while True:
            training = self.stage.start(words, home, self.mark)
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
        resume = self.stage.resume(home, self.tally.resumes)
        return resume if begun else self.stage.train(task, home)

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
            if self.stage.kinds[fault.kind](training, fault):
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
        training = ON_THIS_MACHINE.start(["resume", str(home), *HERE], home, self.mark)
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
        end = time.monotonic() + training.leaves
        while (left := self._left()) and time.monotonic() < end:
            time.sleep(0.05)
        for pid in left:
            self._fail(home, f"still running after {training.leaves:.0f} s: {described(pid)}")
            with suppress(ProcessLookupError):
                os.kill(pid, 9)

    def _left(self) -> list[int]:
        return [*marked(self.mark), *self.stage.playing()]

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
    parser.add_argument("--where", choices=("both", *STAGES), default="both", help=WHERE)
    parser.add_argument("--tasks", nargs="+", choices=sorted(COURSES), default=list(COURSES))
    parser.add_argument("--directory", type=Path, default=None, help="keep the runs here")
    given = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # exiting ends all processes
    before, began = shared_memory(), time.monotonic()
    home = given.directory or Path(tempfile.mkdtemp(prefix="nses-soak-"))
    home.mkdir(parents=True, exist_ok=True)
    tally = Tally()
    soak = Soak(home.resolve(), given.seed, given.tasks, tally)
    chosen = [name for name in STAGES if given.where in (name, "both")]
    try:
        for name in chosen:
            with STAGES[name]() as stage:
                soak.run(stage, given.seconds / len(chosen))
    finally:
        if given.directory is None and not tally.failures:
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
