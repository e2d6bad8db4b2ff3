"""The logs of a run, written after every generation: lines of JSON."""

import json
import logging
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import fields
from itertools import chain
from pathlib import Path
from typing import Any, NotRequired, TypedDict, TypeGuard

from nses.core.values import Report
from nses.experiment.runs.encoding import finite
from nses.experiment.runs.storage import lines_in, regular_file, write_atomically

log = logging.getLogger("nses")

METRICS = "metrics.jsonl"
LISTS = ("behavior", "selection")
NUMBERS = {int, float, bool, type(None)}
COUNTS = ("generation", "member", "episodes", "env_steps")  # whole numbers, never missing
LARGEST = 1e300  # of the numbers we write; infinity is not one of them
LAST_GENERATION = 10**9  # the most that a configuration may ask for
LONGEST_LINE = 64 << 20  # bytes: 10^6 candidates in a line of history.jsonl
LARGEST_LOG = 64 << 30  # bytes
LARGEST_METRICS = 1 << 30  # bytes: 10^6 generations of metrics.jsonl, which is held in memory
PACE = ("foreseen", "idle")  # of the evaluation, where the backend knows them
COLUMNS = (
    *("seconds", "steps_per_second", *PACE),
    *(f.name for f in fields(Report) if f.name not in LISTS),
)


class Record(TypedDict):
    """A line of metrics.jsonl; None stands for a number that is not finite."""

    generation: int
    member: int
    score: float | None
    best: float | None
    weight: float
    episodes: int
    env_steps: int
    seconds: float
    # Lines of older runs, or written by others, may lack the rest.
    return_mean: NotRequired[float | None]
    return_best: NotRequired[float | None]
    training_mean: NotRequired[float | None]
    novelty_mean: NotRequired[float | None]
    archive_size: NotRequired[int]
    failed: NotRequired[int]
    blown_up: NotRequired[int]
    gradient_norm: NotRequired[float | None]
    behavior: NotRequired[list[float | None]]
    selection: NotRequired[list[float | None]]
    restarts: NotRequired[int]
    foreseen: NotRequired[bool]  # whether idle workers had guessed what to play
    idle: NotRequired[float]  # share of the time in which workers had nothing to do
    steps_per_second: NotRequired[float | None]


def record_of(report: Report, seconds: float, duration: float, env_steps: int) -> dict[str, Any]:
    """One line of metrics.jsonl: the report, seconds of training so far, and speed."""
    names = [field.name for field in fields(report) if field.name != "evaluation"]
    record = {name: getattr(report, name) for name in names}
    if report.training_mean is None:  # most runs have none, and digests are older than it
        del record["training_mean"]
    pace = {name: getattr(report.evaluation, name) for name in PACE}
    record |= {name: value for name, value in pace.items() if value is not None}
    record["seconds"] = round(seconds, 6)
    record["steps_per_second"] = round(env_steps / max(duration, 1e-9), 1)
    return {name: finite(value) for name, value in record.items()}


def read_generations(path: Path) -> Iterator[dict[str, Any]]:
    """The generations in a log, without a torn last line and without the marks of gaps."""
    return (r for r in _records(path) if "generation" in r and _numeric(r))


def read_metrics(path: Path) -> tuple[list[Record], int]:
    """The generations in metrics.jsonl, and how many whole lines of it cannot be read."""
    records: list[Record] = []
    unreadable = 0
    if not os.path.lexists(path):
        return records, unreadable
    with regular_file(path, LARGEST_METRICS) as (file, _):
        for line in lines_in(file, LONGEST_LINE):
            record = metrics_in(line)
            if record is None:
                unreadable += line.endswith(b"\n")  # else it is torn, or still being written
            elif is_generation(record):
                records.append(record)
    return records, unreadable


def seconds_until(records: Iterable[Record], generation: int) -> float:
    """How long a run had trained after a generation, over all its resumptions."""
    return max((r["seconds"] for r in records if r["generation"] <= generation), default=0.0)


def metrics_in(line: bytes) -> dict[str, Any] | None:
    """A generation or a gap in metrics.jsonl; None if the line is torn or not one of ours."""
    record = numbers_in(line)
    if record is None or "generation" not in record or _complete(record):
        return record
    return None


def is_generation(line: dict[str, Any]) -> TypeGuard[Record]:
    """Whether a record from `metrics_in` is a generation, not the mark of a gap."""
    return "generation" in line


def numbers_in(line: bytes) -> dict[str, Any] | None:
    """A generation, complete or not, or a gap."""
    record = _record_in(line)
    return record if record is not None and _numeric(record) else None


def refuse_unreadable(path: Path) -> None:
    """CheckpointRefused if a log cannot be read to its end."""
    if os.path.lexists(path):
        with regular_file(path, LARGEST_LOG) as (file, _):
            for _ in lines_in(file, LONGEST_LINE):
                pass


def _records(path: Path) -> Iterator[dict[str, Any]]:
    """The lines that can be read: generations and gaps."""
    if not os.path.lexists(path):
        return
    with regular_file(path, LARGEST_LOG) as (file, _):
        for line in lines_in(file, LONGEST_LINE):
            record = _record_in(line)
            if record is not None:
                yield record


def _record_in(line: bytes) -> dict[str, Any] | None:
    try:
        record = json.loads(line)
        return record if 0 <= _last(record) <= LAST_GENERATION else None
    except (ValueError, TypeError, LookupError, OverflowError, RecursionError):
        return None


def _numeric(record: dict[str, Any]) -> bool:
    """Whether all columns that we write are numbers; columns of others may be anything."""
    lists = [record.get(name, []) for name in LISTS]
    if not all(isinstance(numbers, list) for numbers in lists):
        return False
    values = [*map(record.get, COLUMNS), *chain(*lists)]  # quick, for tens of thousands of lines
    if not NUMBERS.issuperset(map(type, values)):
        return False
    numbers = [x for x in values if x is not None]
    return not numbers or (max(numbers) <= LARGEST and min(numbers) >= -LARGEST)


def _complete(record: dict[str, Any]) -> bool:
    if (
        not record.keys() >= Record.__required_keys__
        or record["seconds"] is None
        or record["weight"] is None
    ):
        return False
    counts = [record[name] for name in COUNTS]
    return all(type(x) is int for x in counts) and min(counts) >= 0


def _last(record: dict[str, Any]) -> int:
    """The last generation of a line, which may be a gap."""
    return int(record["generation"] if "generation" in record else record["gap"][1])


def _first(record: dict[str, Any]) -> int:
    return int(record["generation"] if "generation" in record else record["gap"][0])


class GenerationLog:
    """Appends one line per generation. It first cuts the log back to `generation`.

    A full disk does not stop training: lines are dropped with a warning, and a line
    {"gap": [first, last]} marks them later, as well as lines lost before a later checkpoint.
    """

    def __init__(self, path: Path, generation: int):
        self.path = path
        kept = [r for r in _records(self.path) if _last(r) <= generation]
        self.seconds = max((float(r.get("seconds") or 0.0) for r in kept), default=0.0)
        write_atomically(self.path, "".join(json.dumps(r) + "\n" for r in kept).encode())
        self.file = self.path.open("ab", buffering=0)
        last = max(map(_last, kept), default=0)
        self.gap = [last + 1, generation] if last < generation else []
        self.synced = self._size()
        self.unsynced: list[dict[str, Any]] = []  # written since the last sync
        self.failing = self.in_doubt = False  # whether the last write failed, or the last sync

    def write(self, record: dict[str, Any]) -> None:
        error = self._append([{"gap": self.gap}, record] if self.gap else [record])
        if error is not None:
            self._warn(error)
            self.failing = True
            first = self.gap[0] if self.gap else record["generation"]
            self.gap = [first, record["generation"]]
            return
        if self.gap:
            log.warning(
                "%s is written again; generations %d to %d are missing.", self.path.name, *self.gap
            )
        self.gap, self.failing = [], False

    def sync(self) -> None:
        """Force all lines to the disk; if that fails, the next sync tries again.

        After a failed sync the system may have dropped the lines, and it reports this only once.
        So they are written again.
        """
        try:
            os.fsync(self.file.fileno())
        except OSError as error:
            self._warn(error)
            self.in_doubt = True
            self._write_again()
        else:
            self.synced, self.unsynced, self.in_doubt = self._size(), [], False

    def _write_again(self) -> None:
        lines, self.unsynced = self.unsynced, []
        self._cut(self.synced)
        if lines and self._append(lines) is not None:
            self.gap = [_first(lines[0]), self.gap[1] if self.gap else _last(lines[-1])]

    def _append(self, records: list[dict[str, Any]]) -> OSError | None:
        """Append all of these lines, or none of them and return why."""
        data, start = "".join(json.dumps(r) + "\n" for r in records).encode(), self._size()
        try:
            if self.file.write(data) != len(data):
                raise OSError("the disk took only a part of the line")
        except OSError as error:
            self._cut(start)  # a half-written line
            return error
        self.unsynced += records
        return None

    def _warn(self, error: OSError) -> None:
        if not self.failing and not self.in_doubt:
            log.warning("%s cannot be written: %s. Training goes on.", self.path.name, error)

    def _cut(self, size: int) -> None:
        with suppress(OSError):  # a device has no size
            os.ftruncate(self.file.fileno(), size)

    def _size(self) -> int:
        return os.fstat(self.file.fileno()).st_size

    def __enter__(self) -> "GenerationLog":
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()
