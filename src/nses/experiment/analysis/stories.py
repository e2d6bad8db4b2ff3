"""Runs in numbers, read from their files however far they got, and their learning curves."""

import logging
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nses.core.values import Floats
from nses.errors import UsageError
from nses.experiment.analysis.statistics import median_interval
from nses.experiment.runs.document import CONFIG
from nses.experiment.runs.endings import Ending
from nses.experiment.runs.log import METRICS, Record, read_metrics
from nses.experiment.runs.run import Run, load
from nses.experiment.runs.storage import CheckpointRefused
from nses.experiment.settings.stopping import Stop, stop_of

log = logging.getLogger("nses")

AXES = {  # the horizontal axes of learning curves: column of a Story → its label
    "generation": "generation",
    "episodes": "episodes",
    "env_steps": "environment steps",
    "hours": "hours",
}
POINTS = 400  # of a curve, at most
CURVE_RESAMPLES = 999
CELLS = 20  # of the grid that measures coverage, along each side


@dataclass(frozen=True, eq=False)
class Story:
    """A run in numbers, however far it got, without its parameters."""

    run: Run
    records: list[Record]  # the lines of metrics.jsonl
    ending: Ending | None  # of the best policy, when the run ended last
    unreadable: int = 0  # lines

    @property
    def generation(self) -> int:
        if self.done and self.ending is not None:  # the last line of the log may be lost
            return self.ending.generation
        return self.records[-1]["generation"] if self.records else 0

    @property
    def done(self) -> bool:
        """Whether it has ended, as its settings say, and the best policy is re-tested."""
        return bool(self.retest)

    @property
    def retest(self) -> list[float]:
        """Returns of the best policy in fresh episodes; empty until the run has ended."""
        end = self.ending
        if end is None:
            return []
        ended = end.generation >= self.run.config.generations or self.stop is not None
        return end.returns if ended else []

    @property
    def stop(self) -> Stop | None:
        """Why its settings ended it before its last generation; None if they did not."""
        end, last = self.ending, self.records[-1:]
        if end is None or not last or end.generation < last[0]["generation"]:
            return None
        return stop_of(self.run.config, end.generation, end.best, last[0]["seconds"])

    @property
    def best(self) -> float:
        """The best score so far, the maximum of noisy means; NaN before the first generation."""
        if self.done and self.ending is not None:
            return self.ending.best.score
        return float(self.column("best")[-1]) if self.records else np.nan

    @property
    def variations(self) -> dict[str, list[float]]:
        """Returns of the best policy in variations of the task, by name, once the run has ended."""
        return self.ending.variations if self.done and self.ending is not None else {}

    @property
    def tested(self) -> float:
        """The mean of the best policy in fresh episodes, free of selection bias; NaN until then."""
        return float(np.mean(self.retest)) if self.done else np.nan

    def column(self, name: str) -> Floats:
        """(T,): one number per generation, NaN where it is missing."""
        if name not in self._columns:
            values = (record.get("seconds" if name == "hours" else name) for record in self.records)
            column = np.array(list(values), np.float64)
            self._columns[name] = column / 3600 if name == "hours" else column
        return self._columns[name]

    @cached_property
    def _columns(self) -> dict[str, Floats]:
        """The columns computed so far."""
        return {}

    @cached_property
    def behaviors(self) -> Floats | None:
        """(T, d): where the updated member of each generation ended; None if traces."""
        size = self.run.facts.behavior_size
        if not size:
            return None
        missing = [np.nan] * size
        rows = [r.get("behavior") or missing for r in self.records]
        return np.array(rows, np.float64).reshape(-1, size)  # null in the log becomes NaN


def story_of(run: Run) -> Story:
    records, unreadable = read_metrics(run.path / METRICS)
    return Story(run, records, run.ending, unreadable)


def find_runs(paths: Iterable[str | Path]) -> list[Run]:
    """The readable runs in and below these directories; warns about the others."""
    runs, faults = [], []
    for directory in directories_in(paths):
        try:
            runs.append(load(directory))
        except (CheckpointRefused, ValueError) as error:  # it may have just been created
            faults.append(str(error))
    for fault in faults if runs else ():
        log.warning("left out: %s", fault)
    if not runs:
        raise CheckpointRefused("\n".join(faults))
    return runs


def directories_in(paths: Iterable[str | Path]) -> list[Path]:
    """The run directories in and below these paths, each once; UsageError if a path has none."""
    found: dict[str, Path] = {}
    for path in map(Path, paths):
        named = "\0" not in str(path)  # no file system allows such a name
        below = [Path(p) for p in directories_of_runs(path)] if named else []
        if not below:
            raise UsageError(
                f"{path} holds no run: neither it nor any directory in it has a {CONFIG}. "
                "Make runs with 'nses train' or 'nses reproduce'."
            )
        found |= {os.path.realpath(directory): directory for directory in below}
    return list(found.values())


def directories_of_runs(path: Path) -> list[str]:
    """The run directories below a path, sorted by name; a run holds no other runs."""
    found = []
    for directory, names, files in os.walk(path):
        names.sort()
        if CONFIG in files:
            found.append(directory)
            names.clear()
    return found


@dataclass(frozen=True, eq=False)
class Curve:
    """The best score so far: median over the runs that got that far, and its interval. (points,)"""

    x: Floats
    median: Floats
    low: Floats
    high: Floats
    runs: NDArray[np.int64]  # that got there


def curve_of(stories: Sequence[Story], axis: str) -> Curve | None:
    """The best score so far along an axis; None before the first generation.

    A run counts from its first generation to its last; beyond that, the median is over fewer runs.
    Along steps and hours, which have no set end, a finished run keeps its last score.
    """
    begun = [s for s in stories if s.records]
    if not begun:
        return None
    columns = [s.column(axis) for s in begun]
    grid = _grid(columns, axis)
    y = np.full((len(begun), len(grid)), np.nan)
    for row, x, story in zip(y, columns, begun, strict=True):
        stays = story.done and axis in ("env_steps", "hours")
        at = np.searchsorted(x, grid, side="right") - 1
        there = (at >= 0) & ((grid <= x[-1]) | stays)
        row[there] = story.column("best")[at[there]]
    known = np.isfinite(y)
    low, high, middle = (np.full(len(grid), np.nan) for _ in range(3))
    for pattern in np.unique(known, axis=1).T:  # the set of runs changes only a few times
        where = (known == pattern[:, None]).all(axis=0)
        if not pattern.any():
            continue
        values, index = np.unique(y[pattern][:, where], axis=1, return_inverse=True)
        middle[where] = np.median(values, axis=0)[index]
        ends = median_interval(values.T, CURVE_RESAMPLES)
        low[where], high[where] = ends[0][index], ends[1][index]
    return Curve(grid, middle, low, high, known.sum(axis=0))


def coverage(stories: Sequence[Story]) -> list[Floats] | None:
    """How much of the behavior space each run has visited after each generation, 0 to 1.

    The share of the cells of a grid over the behaviors of all these runs; None if not in 2-D.
    """
    seen = [b for s in stories if (b := s.behaviors) is not None and b.shape[1] == 2]
    points = np.concatenate([np.empty((0, 2)), *seen])
    points = points[np.isfinite(points).all(axis=1)]
    if len(seen) < len(stories) or not len(points):
        return None
    low, size = points.min(axis=0), np.maximum(np.ptp(points, axis=0), 1e-12)
    shares = []
    for b in seen:
        known = np.isfinite(b).all(axis=1)
        cell = np.minimum(np.floor((b[known] - low) / size * CELLS), CELLS - 1).astype(int)
        new = np.zeros(len(b))
        new[np.flatnonzero(known)[np.unique(cell, axis=0, return_index=True)[1]]] = 1
        shares.append(np.cumsum(new) / CELLS**2)
    return shares


def _grid(columns: Sequence[Floats], axis: str) -> Floats:
    """The points of a curve: whole generations, else evenly spaced from the first number on."""
    first, last = min(x[0] for x in columns), max(x[-1] for x in columns)
    grid = np.linspace(first, last, POINTS)
    if axis == "generation":
        return np.unique(np.round(grid)) if last - first >= POINTS else np.arange(first, last + 1)
    # The end of every run is a point, so that no run seems to stop early.
    return np.unique(np.concatenate([grid, [x[-1] for x in columns]]))
