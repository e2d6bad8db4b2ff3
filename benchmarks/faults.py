"""Faults of a run in training: a plan drawn from a seed, and how to cause each fault.

Exact recovery is promised from every one of them. A fault that could not be caused returns False.
"""

import json
import os
import resource
import signal
import subprocess
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random

MARK = "NSES_SOAK"  # in the environment of every process that a soak starts
ENDS = 60.0  # seconds that a process may take to end after it was asked to
LEAVES = 20.0  # seconds that workers may outlive their coordinator on a busy machine


@dataclass(frozen=True)
class Fault:
    """What happens next; `damage` is done to the files after the process has ended."""

    kind: str
    pause: float  # seconds of training before it
    patient: bool  # whether it waits for a new generation since the last fault
    seconds: float  # how long it lasts
    number: int  # chooses a worker, a byte or a size
    damage: str | None


def plan(seed: int, kinds: Collection[str]) -> Iterator[Fault]:
    """An endless sequence of faults of these kinds; a pure function of the seed."""
    names = sorted(kinds)
    for i in range(10**9):
        rng = Random(f"soak {seed} {i}")
        kind = rng.choices(names, [WEIGHTS.get(name, 2) for name in names])[0]
        yield Fault(
            kind,
            pause=round(rng.uniform(0.0, 1.5), 3),
            patient=kind in POLITE or rng.random() < 0.7,
            seconds=round(rng.choice((0.3, 1.0, 2.0, LONG)), 3) if kind in LASTING else 0.0,
            number=rng.randrange(1 << 20),
            damage=rng.choice((None, *sorted(DAMAGES))) if kind in ENDING else None,
        )


@dataclass
class Training:
    """A process that trains, and the pipe that it prints to."""

    home: Path
    process: subprocess.Popen[bytes]
    mark: str
    reader: int | None  # None once its standard output is closed
    leaves: float = LEAVES  # seconds that its workers may outlive it

    def drain(self) -> None:
        """Read what it printed, so that it never blocks."""
        with suppress(BlockingIOError):
            while self.reader is not None and os.read(self.reader, 1 << 16):
                pass

    def close(self) -> None:
        if self.reader is not None:
            os.close(self.reader)
            self.reader = None

    @property
    def workers(self) -> list[int]:
        """The process ids of its workers."""
        pid = self.process.pid
        with suppress(OSError):
            names = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
            return [int(name) for name in names if b"worker.py" in command_of(int(name))]
        return []


def command_of(pid: int) -> bytes:
    """The command line of a process; nothing if there is none."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


def described(pid: int) -> str:
    """A process and those that it descends from, with their states."""
    try:
        name, _, rest = Path(f"/proc/{pid}/stat").read_text().partition("(")[2].rpartition(")")
    except OSError:
        return f"{pid} (gone)"
    words = command_of(pid).replace(b"\0", b" ").decode(errors="replace").strip()
    state, parent = rest.split()[:2]
    above = f", child of {described(int(parent))}" if int(parent) > 1 else ""
    return f"{pid} {state} {words[:100] or name}{above}"


def marked(mark: str) -> list[int]:
    """All living processes that carry the mark."""
    found, wanted = [], f"{MARK}={mark}".encode()
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            state = (path / "stat").read_text().rpartition(")")[2].split()[0]
            if state not in "ZX" and wanted in (path / "environ").read_bytes().split(b"\0"):
                found.append(int(path.name))
    return found


def generation_of(home: Path) -> int:
    """The last generation in the log."""
    with suppress(OSError, ValueError, KeyError, TypeError, IndexError):
        with (home / "metrics.jsonl").open("rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - 8192))
            lines = file.read().split(b"\n")
        return int(json.loads(lines[-2])["generation"])  # the last may be torn
    return 0


# Each of these returns whether it could cause the fault.


def _kill_worker(training: Training, fault: Fault) -> bool:
    return kill_one(training.workers, fault)


def _stop_worker(training: Training, fault: Fault) -> bool:
    """Freeze a worker, as a swapping machine does; if long enough, it counts as hanging."""
    return stop_one(training.workers, training, fault)


def kill_one(pids: list[int], fault: Fault) -> bool:
    return bool(pids) and _send(pids[fault.number % len(pids)], signal.SIGKILL)


def stop_one(pids: list[int], training: Training, fault: Fault) -> bool:
    """Freeze one of these processes for some time."""
    if not pids:
        return False
    pid = pids[fault.number % len(pids)]
    command = command_of(pid)
    if not _send(pid, signal.SIGSTOP):
        return False
    let_pass(training, fault.seconds)
    if command_of(pid) == command:  # otherwise it has been replaced
        _send(pid, signal.SIGCONT)
    return True


def _stop_coordinator(training: Training, fault: Fault) -> bool:
    if not _send(training.process.pid, signal.SIGSTOP):
        return False
    let_pass(training, fault.seconds)
    return _send(training.process.pid, signal.SIGCONT)


def _kill_coordinator(training: Training, fault: Fault) -> bool:
    return _send(training.process.pid, signal.SIGKILL)


def _kill_group(training: Training, fault: Fault) -> bool:
    os.killpg(training.process.pid, signal.SIGKILL)
    return True


def _terminate(training: Training, fault: Fault) -> bool:
    return _send(training.process.pid, signal.SIGTERM)


def _interrupt(training: Training, fault: Fault) -> bool:
    return _send(training.process.pid, signal.SIGINT)


def _interrupt_twice(training: Training, fault: Fault) -> bool:
    if not _send(training.process.pid, signal.SIGINT):
        return False
    time.sleep(0.05)
    _send(training.process.pid, signal.SIGINT)
    return True


def _fill_disk(training: Training, fault: Fault) -> bool:
    """For some time no file may grow beyond a size, so larger writes fail."""
    pid, hard = training.process.pid, resource.RLIM_INFINITY
    try:
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (fault.number % 20_000, hard))
        let_pass(training, fault.seconds)
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (hard, hard))
    except ProcessLookupError:  # it has given up, which is allowed
        return training.process.wait(ENDS) == 4
    return True


def _close_output(training: Training, fault: Fault) -> bool:
    if training.reader is None:
        return False
    training.close()
    return True


def _send(pid: int, signum: int) -> bool:
    try:
        os.kill(pid, signum)
    except ProcessLookupError:
        return False
    return True


def let_pass(training: Training, seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        training.drain()
        time.sleep(0.05)


# Damage to the files of a run that no process is training.


def _flip_newest(home: Path, number: int) -> bool:
    """Flip a bit of the newest checkpoint, if there is an older one."""
    checkpoints = sorted(home.glob("checkpoints/[0-9]*"))
    if len(checkpoints) < 2:
        return False
    return _flip(sorted(checkpoints[-1].iterdir())[number % 3], number)


def _tear(name: str) -> Callable[[Path, int], bool]:
    def tear(home: Path, number: int) -> bool:
        """Cut off the end of the last line, if it is newer than the newest checkpoint."""
        checkpoints = sorted(home.glob("checkpoints/[0-9]*"))
        if not checkpoints or generation_of(home) <= int(checkpoints[-1].name):
            return False
        path = home / name
        lines = path.read_bytes().splitlines(keepends=True)
        os.truncate(path, path.stat().st_size - 1 - number % (len(lines[-1]) - 1))
        return True

    return tear


def _lose_pointer(home: Path, number: int) -> bool:
    path = home / "checkpoints" / "latest.json"
    existed = path.exists()
    path.unlink(missing_ok=True)
    return existed


def flip_best(home: Path, number: int) -> bool:
    return _flip(home / "best.safetensors", number)


def lose_archive(home: Path, number: int) -> bool:
    path = home / "archive.safetensors"
    existed = path.exists()
    path.unlink(missing_ok=True)
    return existed


def _flip(path: Path, number: int) -> bool:
    if not path.is_file() or not path.stat().st_size:
        return False
    data = bytearray(path.read_bytes())
    data[number % len(data)] ^= 1 << number % 8
    path.write_bytes(data)
    return True


LONG = 8.0  # seconds, longer than the deadline of an episode in a soak
KINDS: dict[str, Callable[[Training, Fault], bool]] = {
    "kill -9 a worker": _kill_worker,
    "SIGSTOP a worker": _stop_worker,
    "SIGSTOP the coordinator": _stop_coordinator,
    "kill -9 the coordinator": _kill_coordinator,
    "kill -9 the process group": _kill_group,
    "SIGTERM": _terminate,
    "SIGINT": _interrupt,
    "SIGINT twice": _interrupt_twice,
    "full disk": _fill_disk,
    "close standard output": _close_output,
}
WEIGHTS = {"kill -9 a worker": 4, "SIGINT twice": 1, "close standard output": 1}
WEIGHTS |= {"a node joins": 5, "cut the link of a node": 4}
ENDING = frozenset(
    ["kill -9 the coordinator", "kill -9 the process group", "SIGTERM", "SIGINT", "SIGINT twice"]
)
# Only once training has started: before that, Python itself would react.
POLITE = frozenset(["SIGTERM", "SIGINT", "SIGINT twice", "full disk", "close standard output"])
LASTING = frozenset(
    [
        *("SIGSTOP a worker", "SIGSTOP the coordinator", "full disk"),
        *("SIGSTOP a foreman", "SIGSTOP a raylet", "cut the link of a node"),
    ]
)
DAMAGES: dict[str, Callable[[Path, int], bool]] = {
    "flip a bit of the newest checkpoint": _flip_newest,
    "tear the last line of metrics": _tear("metrics.jsonl"),
    "tear the last line of history": _tear("history.jsonl"),
    "lose latest.json": _lose_pointer,
}
AFTER: dict[str, Callable[[Path, int], bool]] = {  # done to a finished run
    "flip a bit of best.safetensors": flip_best,
    "lose archive.safetensors": lose_archive,
}
