"""One case of the fuzzer, in a process of its own."""

import faulthandler
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from types import FrameType
from typing import NoReturn

from benchmarks.fuzzing import looks, words
from benchmarks.fuzzing.base import Base
from benchmarks.fuzzing.damage import damage
from benchmarks.fuzzing.looks import Finding, Trial

DEADLINE = 20.0  # seconds for a case, not counting those in which it waits for a CPU
GRACE = 5.0
MEMORY = 1 << 30  # bytes that a case may add
RESULT, OUTPUT = "result.json", "output"


class Overdue(BaseException):
    """Raised in a case that takes too long, wherever it is."""


@dataclass(frozen=True)
class Outcome:
    kind: str
    what: str
    findings: tuple[Finding, ...]


def play(base: Base, seed: int, case: int, scratch: Path, output: Callable[[], str]) -> Outcome:
    """One case; everything in it is drawn from the seed and its number."""
    rng = Random(f"{seed} {case}")
    if case < 0:
        return _damaged(base, rng, scratch, output, damages=0)
    if rng.random() < 0.25:
        return _odd_words(base, rng, scratch, output)
    return _damaged(base, rng, scratch, output, damages=rng.choice((1, 1, 1, 2, 3)))


def _damaged(
    base: Base, rng: Random, scratch: Path, output: Callable[[], str], damages: int
) -> Outcome:
    name = rng.choice(sorted(base.expected))
    home = scratch / "damaged" / "run"
    shutil.copytree(base.home / name, home)
    done = [damage(home, rng, base.runs) for _ in range(damages)]
    what = f"{name}: {'; '.join(map(str, done))}"
    trial, did = Trial(home, done, base.expected[name], output), "reading"
    try:
        if rng.random() < 0.5:
            looks.read(trial, rng)
        else:
            line = looks.command(trial, rng, scratch)
            did, what = line[0], f"{what}; nses {' '.join(line)}"
            looks.run_command(trial, line)
    except Overdue as error:
        trial.findings.append(looks.of_error("hang", did, error))
    kind = done[0].kind if done else "control"
    return Outcome(kind, what, tuple(trial.findings))


def _odd_words(base: Base, rng: Random, scratch: Path, output: Callable[[], str]) -> Outcome:
    here = scratch / "a" / "b"
    here.mkdir(parents=True)
    for run in base.runs:
        shutil.copytree(run, here / run.name)
    (here / "file.txt").write_text("hello\n")
    (here / "loop").symlink_to("loop")
    os.chdir(here)
    line = words.words(rng)
    what = f"nses {' '.join(map(repr, line))}"
    try:
        findings = looks.judged(line, looks.exit_code(line), output())
    except Overdue as error:
        findings = [looks.of_error("hang", line[0], error)]
    return Outcome("words", what, tuple(findings))


def case_in_child(base: Base, seed: int, case: int, scratch: Path) -> NoReturn:
    """Play a case in a forked process, and exit."""
    os.setsid()
    descriptor = os.open(scratch / OUTPUT, os.O_RDWR | os.O_CREAT, 0o600)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    sys.stdout = open(1, "w", encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
    faulthandler.enable(open(2, "w", closefd=False))  # noqa: SIM115
    signal.signal(signal.SIGALRM, _raise_overdue)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))

    def output() -> str:
        sys.stdout.flush()
        sys.stderr.flush()
        return os.pread(descriptor, 1 << 24, 0).decode(errors="backslashreplace")

    try:
        outcome = play(base, seed, case, scratch, output)
    except BaseException as error:
        detail = traceback.format_exc()
        found = Finding("uncaught", looks.signature(error), detail)
        outcome = Outcome("uncaught", "", (found,))
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
    (scratch / RESULT).write_text(json.dumps(asdict(outcome)))
    os._exit(0)


def _raise_overdue(signum: int, frame: FrameType | None) -> None:
    raise Overdue


def try_case(base: Base, seed: int, case: int) -> Outcome:
    """Try the case in a process of its own, which is ended when it is overdue."""
    with _scratch() as scratch:
        child = os.fork()
        if child == 0:
            case_in_child(base, seed, case, scratch)
        status = _watch(child)
        with suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)  # what it may have started
        text = (scratch / OUTPUT).read_text(errors="replace") if (scratch / OUTPUT).exists() else ""
        if not (scratch / RESULT).exists():
            found = Finding("crash", f"ended by {_ending(status)}", text[-5000:])
            return Outcome("crash", "", (found,))
        result = json.loads((scratch / RESULT).read_text())
    findings = tuple(Finding(**finding) for finding in result["findings"])
    return Outcome(result["kind"], result["what"], findings)


def _ending(status: int) -> str:
    if os.WIFSIGNALED(status):
        return signal.Signals(os.WTERMSIG(status)).name
    return f"exit {os.waitstatus_to_exitcode(status)}"


@contextmanager
def _scratch() -> Iterator[Path]:
    path = Path(tempfile.mkdtemp(prefix="nses-fuzz-"))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def _watch(child: int) -> int:
    """The exit status of a case; an overdue one is signalled, then killed."""
    begin = time.monotonic()
    steps = iter(((DEADLINE, signal.SIGALRM), (GRACE, signal.SIGABRT), (GRACE, signal.SIGKILL)))
    limit, next_signal = next(steps)
    pause = 0.001
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return status
        if time.monotonic() - begin - _waited(child) > limit:
            os.kill(child, next_signal)
            more, next_signal = next(steps, (1e9, signal.SIGKILL))
            limit += more
        time.sleep(pause)
        pause = min(0.1, pause * 1.5)


def _waited(process: int) -> float:
    """Seconds that a process was ready to run but had no CPU."""
    try:
        return int(Path(f"/proc/{process}/schedstat").read_text().split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return 0.0
