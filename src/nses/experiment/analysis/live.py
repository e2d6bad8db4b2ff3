"""Runs while they train: what is new in their files, and whether a process is training them."""

import os
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nses.errors import UsageError
from nses.experiment.analysis.gather import reason_of, refuse_odd
from nses.experiment.analysis.stories import Story, directories_of_runs
from nses.experiment.runs.document import CONFIG
from nses.experiment.runs.endings import BEST, Ending
from nses.experiment.runs.log import (
    LARGEST_METRICS,
    LONGEST_LINE,
    METRICS,
    Record,
    is_generation,
    metrics_in,
)
from nses.experiment.runs.run import Run, load
from nses.experiment.runs.storage import LOCK, lines_in, regular_file

TRAINING, STOPPED, FINISHED = "training", "stopped", "finished"
LATELY = 30.0  # seconds without a generation after which a run on another machine has stopped
SEARCH_SHARE = 20  # looking for new runs takes at most 1/20 of the time
LOCKS = Path("/proc/locks")

Stamp = tuple[int, ...]  # changes whenever a file does


@dataclass(frozen=True, eq=False)
class Live:
    """A run as it is now."""

    name: str  # its directory
    story: Story
    state: str

    @property
    def speed(self) -> float | None:
        return self.story.records[-1].get("steps_per_second") if self.story.records else None


@dataclass(frozen=True, eq=False)
class View:
    """All runs as they are now, those in training first; and why others cannot be read."""

    runs: tuple[Live, ...]
    faults: tuple[str, ...]

    @property
    def stamp(self) -> str:
        """Changes whenever there is something new to show."""
        seen = [(run.name, run.story.generation, run.state, run.speed) for run in self.runs]
        return str(hash((*seen, *self.faults)))


class Tail:
    """The generations in a metrics file; every read continues where the last one ended.

    A file that was cut back or replaced (resuming does that) is read again from its beginning.
    """

    def __init__(self, path: Path):
        self.path = path
        self.records: list[Record] = []
        self.unreadable = 0  # lines
        self._offset, self._last = 0, b""

    def read(self) -> list[Record]:
        if not os.path.lexists(self.path):
            self._forget()
            return self.records
        new: list[Record] = []
        with regular_file(self.path, LARGEST_METRICS) as (file, _):
            self._resume(file)
            for line in lines_in(file, LONGEST_LINE):
                if not line.endswith(b"\n"):
                    break  # it is still being written
                record = metrics_in(line)
                self.unreadable += record is None
                if record is not None and is_generation(record):
                    new.append(record)
                self._last, self._offset = line, self._offset + len(line)
        if new:
            self.records = self.records + new  # a new list: readers may still hold the old one
        return self.records

    def _resume(self, file: Any) -> None:
        """Seek to where reading ended if the last line is unchanged, else to the beginning."""
        start = self._offset - len(self._last)
        file.seek(start)
        if file.read(len(self._last)) != self._last:
            self._forget()
            file.seek(0)

    def _forget(self) -> None:
        self.records, self.unreadable, self._offset, self._last = [], 0, 0, b""


@dataclass
class _Known:
    """What has been read of a run so far."""

    tail: Tail
    config: tuple[Stamp, Run] | None = None
    ending: tuple[Stamp, Ending | None] | None = None
    checked: list[Record] | None = None


class Watcher:
    """Looks at directories again and again; each look reads little more than the new lines."""

    def __init__(self, directories: Iterable[str | Path]):
        self.directories = [Path(d) for d in directories]
        # Unlike Path.is_dir, this does not raise where a name is too long.
        missing = [str(d) for d in self.directories if not os.path.isdir(d)]
        if missing:
            raise UsageError(
                f"{', '.join(missing)} is not a directory; "
                "'nses watch' takes run directories, or directories that hold runs, such as runs."
            )
        self._known: dict[str, _Known] = {}
        self._found: list[str] = []
        self._search_at = 0.0
        self._one_at_a_time = threading.Lock()

    def look(self) -> View:
        with self._one_at_a_time:
            locked = _locked_inodes()
            runs, faults = [], []
            for name in self._names():
                known = self._known.setdefault(name, _Known(Tail(Path(name) / METRICS)))
                try:
                    runs.append(_look(name, known, locked))
                except Exception as error:  # other people's files may hold anything
                    faults.append(f"{name}: {reason_of(error, name)}")
                if known.tail.unreadable:
                    lines = f"left out {known.tail.unreadable} unreadable lines"
                    faults.append(f"{known.tail.path}: {lines}")
            runs.sort(key=lambda run: (TRAINING, STOPPED, FINISHED).index(run.state))
            return View(tuple(runs), tuple(faults))

    def _names(self) -> list[str]:
        """The run directories; new ones are looked for only as often as that is cheap."""
        begin = time.monotonic()
        if begin >= self._search_at:
            found = [name for d in self.directories for name in directories_of_runs(d)]
            self._found = list({os.path.realpath(name): name for name in found}.values())
            self._known = {name: k for name, k in self._known.items() if name in self._found}
            end = time.monotonic()
            self._search_at = end + SEARCH_SHARE * (end - begin)
        return self._found


def _look(name: str, known: _Known, locked: set[int] | None) -> Live:
    path = Path(name)
    stamp = _stamp(path / CONFIG)
    if known.config is None or known.config[0] != stamp:
        known.config, known.checked = (stamp, load(path)), None
    run, records = known.config[1], known.tail.read()
    stamp = _stamp(path / BEST)
    if known.ending is None or known.ending[0] != stamp:
        known.ending, known.checked = (stamp, run.ending), None
    story = Story(run, records, known.ending[1])
    if known.checked is not story.records:  # a new list whenever there is a new generation
        refuse_odd(story)
        known.checked = story.records
    return Live(name, story, FINISHED if story.done else _state(path, story, locked))


def _state(path: Path, story: Story, locked: set[int] | None) -> str:
    """Whether a process is training it: by the lock if we can see it, else by recent writes."""
    stamp = _stamp(path / LOCK)
    if locked is not None and stamp:
        if stamp[0] in locked:
            return TRAINING
        with regular_file(path / LOCK) as (file, _):
            holder = file.read(200)
        if holder.endswith(f" on {os.uname().nodename}".encode()):
            return STOPPED  # its last holder ran on this machine
    times = [r.get("seconds") or 0.0 for r in story.records[-2:]]
    patience = max(LATELY, 3 * (times[-1] - times[0]) if times else 0.0)
    written = _stamp(path / METRICS) or _stamp(path / CONFIG)
    lately = bool(written) and time.time() - written[1] / 1e9 < patience
    return TRAINING if lately else STOPPED


def _locked_inodes() -> set[int] | None:
    """Inodes that are locked on this machine; None if the system does not tell.

    Trying the lock ourselves would hold it for a moment, and a run could fail to start meanwhile.
    """
    try:
        lines = LOCKS.read_text().splitlines()
    except OSError:
        return None
    fields = (line.split() for line in lines)
    return {int(f[5].rpartition(":")[2]) for f in fields if f[1] == "FLOCK"}


def _stamp(path: Path) -> Stamp:
    """Inode, time of the last change in nanoseconds, and size; empty if there is no such file."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return ()
    return status.st_ino, status.st_mtime_ns, status.st_size
