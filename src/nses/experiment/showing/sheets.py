"""How panels are laid out on a sheet, in inches: in rows that are never a strip."""

import math
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nses.experiment.analysis.planes import Frame

PANEL, LONE_PANEL = 1.85, 3.6  # the width of one panel of many, and of a single one
LEFT, RIGHT, TOP, BOTTOM, GAP, TICK = 0.6, 0.12, 0.35, 0.5, 0.09, 0.028
LINE, ENTRY, LETTER = 0.18, 1.15, 0.065  # a line of text, a legend entry, a letter of 8 points
LOWEST, TALLEST = 0.5, 1.6  # a panel: its height by its width
NARROWEST, WIDEST = 0.45, 2.4  # a sheet: its width by its height

Spot = tuple[int, int]  # row and column


@dataclass(frozen=True)
class Sheet:
    """Panels on one sheet; one axes object draws them all, which is quick."""

    frame: Frame  # of the world, which every panel shows
    rows: int
    columns: int
    left: float  # room for the names of groups, axes and ticks
    legend: int  # entries
    caption: str

    @property
    def panel(self) -> NDArray[np.float64]:
        """Width and height."""
        width, height = self.frame.high - self.frame.low
        ratio = np.clip(height / width, LOWEST, TALLEST) if self.frame.equal else 0.8
        return (PANEL if self.rows * self.columns > 1 else LONE_PANEL) * np.array([1.0, ratio])

    @property
    def bottom(self) -> float:
        return BOTTOM + LINE * (self.legend_rows + len(self.caption_lines))

    @property
    def width(self) -> float:
        return self.left + self.columns * (self.panel[0] + GAP) - GAP + RIGHT

    @property
    def height(self) -> float:
        return TOP + self.rows * (self.panel[1] + GAP) - GAP + self.bottom

    @property
    def legend_rows(self) -> int:
        """How many rows the legend needs."""
        return math.ceil(self.legend / max(1.0, self.width // ENTRY))

    @property
    def caption_lines(self) -> list[str]:
        return textwrap.wrap(self.caption, int(self.width / LETTER))

    def corner(self, row: int, column: int) -> NDArray[np.float64]:
        """The lower left corner of a panel."""
        step = self.panel + GAP
        return np.array(
            [self.left + column * step[0], self.bottom + (self.rows - 1 - row) * step[1]]
        )

    def place(self, points: Any, row: int, column: int) -> NDArray[np.float64]:
        """Where (x, y) of the world is on the sheet: centered in the panel."""
        size = self.frame.high - self.frame.low
        scale = self.panel / size
        scale = scale.min() if self.frame.equal else scale
        middle = self.corner(row, column) + self.panel / 2
        return middle + (np.reshape(points, (-1, 2)) - (self.frame.low + size / 2)) * scale


@dataclass(frozen=True)
class Arrangement:
    """Where the panels of each group are; `by_group` if a group begins a row of its own."""

    sheet: Sheet
    spots: tuple[tuple[Spot, ...], ...]
    by_group: bool


def arranged(counts: Sequence[int], sheet: Sheet) -> Arrangement:
    """So many panels of each group: a row per group if that makes no strip, else in shorter rows.

    If no length of rows will do, all panels follow each other.
    """
    for columns in range(max(counts), 0, -1):
        spots = tuple(_filled(counts, columns))
        tried = replace(sheet, rows=1 + spots[-1][-1][0], columns=columns)
        if NARROWEST <= tried.width / tried.height <= WIDEST or max(counts) == sum(counts) == 1:
            return Arrangement(tried, spots, True)
    return _flowing(counts, sheet)


def _filled(counts: Sequence[int], columns: int) -> Iterator[tuple[Spot, ...]]:
    row = 0
    for count in counts:
        yield tuple((row + i // columns, i % columns) for i in range(count))
        row += math.ceil(count / columns)


def _flowing(counts: Sequence[int], sheet: Sheet) -> Arrangement:
    total = sum(counts)
    tried = [replace(sheet, rows=-(-total // c), columns=c) for c in range(1, total + 1)]
    best = min(tried, key=lambda s: abs(math.log(s.width / s.height / 1.4)))
    spots = iter([divmod(i, best.columns) for i in range(total)])
    return Arrangement(best, tuple(tuple(next(spots) for _ in range(c)) for c in counts), False)
