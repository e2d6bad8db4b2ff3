"""A table as a value: records and how to show them. Terminal, page and files render it."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from nses.experiment.showing.drawing import Color
from nses.words import short

R = TypeVar("R")

MISSING = "–"


@dataclass(frozen=True)
class Cell:
    """A text, and hints for a medium that can use them."""

    text: str
    aside: str = ""  # shown less prominently after the text: an interval
    color: Color | None = None  # the colour of the same thing in the plots
    target: Path | None = None  # the file it links to
    is_command: bool = False  # a line for a terminal
    kind: str = ""  # the kind of a state, for its style


@dataclass(frozen=True)
class Column(Generic[R]):
    title: str
    cell: Callable[[R], Cell]
    aside: str = ""  # the title of the asides
    narrow: bool = True  # whether it is also shown where there is little room


@dataclass(frozen=True)
class Table(Generic[R]):
    """The first cell of a row names it."""

    title: str
    columns: tuple[Column[R], ...]
    records: tuple[R, ...]
    caption: str = ""
    marked: Callable[[R], bool] = lambda _: False  # which rows stand out


def plain(show: Callable[[R], object]) -> Callable[[R], Cell]:
    """Cells that are plain text."""
    return lambda record: Cell(str(show(record)))


def number(x: float | None) -> str:
    return MISSING if x is None or not math.isfinite(x) else short(x)


def interval(low: float, high: float) -> str:
    known = math.isfinite(low) and math.isfinite(high)
    return f"[{short(low)}, {short(high)}]" if known else ""


def share(x: float) -> str:
    return f"{x:.0%}" if math.isfinite(x) else MISSING


def p_value(p: float) -> str:
    if not math.isfinite(p):
        return MISSING
    return "< 0.001" if p < 0.001 else f"{p:.3f}"
