"""Runs from above, as in the paper's Fig. 2: every behavior that the population has shown."""

import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nses.experiment.analysis.scenes import Scene, Trail, limits, trail_of
from nses.experiment.analysis.stories import Story
from nses.experiment.showing.charts import DIAMONDS
from nses.experiment.showing.drawing import (
    FAINT,
    HUES,
    INK,
    STAR_COLOR,
    WALL,
    name_of,
    plainly,
    save,
    shades,
)
from nses.words import short

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STAR: dict[str, Any] = {
    "marker": "*", "markersize": 8, "color": STAR_COLOR, "markeredgecolor": INK,
    "markeredgewidth": 0.6,
}  # fmt: skip
CAPTION = f"{DIAMONDS} The number is the best return of the run."
PANEL, LONE_PANEL = 1.85, 3.6  # inches: the width of one panel of many, and of a single one
LEFT, RIGHT, TOP, BOTTOM, GAP, TICK = 0.75, 0.12, 0.35, 0.5, 0.09, 0.028
LINE, ENTRY, LETTER = 0.18, 1.15, 0.065  # a line of text, a legend entry, a letter of 8 points
TONES = 12  # shades of a member's colour, from its first generation to its last
ENTRIES = 2 + len(HUES)  # of the longest legend: start, wall, members


@dataclass(frozen=True)
class Sheet:
    """Panels on one sheet, in inches; one axes object draws them all, which is quick."""

    low: NDArray[np.float64]  # the corners of the area that every panel shows
    high: NDArray[np.float64]
    rows: int
    columns: int

    @property
    def panel(self) -> NDArray[np.float64]:
        """Width and height."""
        ratio = np.clip((self.high[1] - self.low[1]) / (self.high[0] - self.low[0]), 0.5, 1.6)
        return (PANEL if self.rows * self.columns > 1 else LONE_PANEL) * np.array([1.0, ratio])

    @property
    def bottom(self) -> float:
        return BOTTOM + LINE * (_legend_rows(self.width) + len(_caption(self.width)))

    @property
    def width(self) -> float:
        return LEFT + self.columns * (self.panel[0] + GAP) - GAP + RIGHT

    @property
    def height(self) -> float:
        return TOP + self.rows * (self.panel[1] + GAP) - GAP + self.bottom

    def corner(self, row: int, column: int) -> NDArray[np.float64]:
        """The lower left corner of a panel."""
        step = self.panel + GAP
        return np.array([LEFT + column * step[0], self.bottom + (self.rows - 1 - row) * step[1]])

    def place(self, points: Any, row: int, column: int) -> NDArray[np.float64]:
        """Where (x, y) of the world is on the sheet: centered in the panel, equal scales."""
        size = self.high - self.low
        scale = (self.panel / size).min()
        middle = self.corner(row, column) + self.panel / 2
        return middle + (np.reshape(points, (-1, 2)) - (self.low + size / 2)) * scale


@plainly()
def overhead(runs: Mapping[str, Sequence[Story]], scenes: Sequence[Scene], path: Path) -> None:
    """Draw the paper's Fig. 2 to `path` (PNG) and to a PDF beside it; a scene per row of runs.

    A row per algorithm, a column per seed: one diamond per generation at the final (x, y) of the
    updated member, one colour per member, darker for later ones. Behaviors have two dimensions.
    """
    from matplotlib.figure import Figure

    trails = {
        (i, j): trail_of(story)
        for i, row in enumerate(runs.values())
        for j, story in enumerate(row)
    }
    scene = scenes[0]
    walls = tuple(wall for each in scenes for wall in each.walls)
    b = np.concatenate([trail.b for trail in trails.values()])
    low, high = limits(b, replace(scene, walls=walls))
    high = high + np.array([0.0, 0.07 * (high - low).max()])  # room for the number at the top
    sheet = Sheet(low, high, len(runs), max(len(row) for row in runs.values()))
    figure = Figure((sheet.width, sheet.height), facecolor="white")
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set(xlim=(0, sheet.width), ylim=(0, sheet.height))
    axes.set_axis_off()
    _diamonds(axes, sheet, trails)
    _surroundings(axes, sheet, trails, scenes)
    _labels(axes, sheet, runs, scene)
    members = max((int(m) + 1 for trail in trails.values() for m in trail.member), default=0)
    _legend(figure, members, scene)
    save(figure, path)


def _diamonds(axes: "Axes", sheet: Sheet, trails: Mapping[tuple[int, int], Trail]) -> None:
    """One colour at a time, later ones on top: drawing each diamond would take far longer."""
    from matplotlib.lines import Line2D

    every = list(trails.values())
    b = np.concatenate([sheet.place(trail.b, *at) for at, trail in trails.items()])
    member = np.concatenate([trail.member for trail in every])
    tone = np.minimum(np.concatenate([t.age for t in every]) * TONES, TONES - 1).astype(int)
    style = {"marker": "D", "markersize": 2.4, "markeredgewidth": 0, "linestyle": "none"}
    for key in np.unique(np.stack([tone, member], axis=1), axis=0):
        (color,) = shades(key[1:], (key[:1] + 0.5) / TONES)
        points = b[(tone == key[0]) & (member == key[1])]
        axes.add_artist(Line2D(*points.T, color=tuple(color), zorder=3, **style))


def _surroundings(
    axes: "Axes", sheet: Sheet, trails: Mapping[tuple[int, int], Trail], scenes: Sequence[Scene]
) -> None:
    """Frames, walls, where episodes start, and the number of each run."""
    from matplotlib.collections import PolyCollection
    from matplotlib.lines import Line2D

    frames = [_box(sheet.corner(*at), sheet.corner(*at) + sheet.panel) for at in trails]
    axes.add_collection(
        PolyCollection(frames, facecolors="none", edgecolors=FAINT, linewidths=0.6, zorder=2)
    )
    walls = [
        _box(*sheet.place([(x0, y0), (x1, y1)], *at))
        for at in trails
        for x0, x1, y0, y1 in scenes[at[0]].walls
    ]  # above the diamonds, which are larger than the robot
    axes.add_collection(
        PolyCollection(walls, facecolors=WALL, edgecolors=WALL, linewidths=0.6, zorder=4)
    )
    starts = [(scenes[at[0]].start, at) for at in trails]
    stars = np.concatenate(
        [np.empty((0, 2)), *(sheet.place(start, *at) for start, at in starts if start)]
    )
    if len(stars):
        axes.add_artist(Line2D(*stars.T, linestyle="none", zorder=5, **STAR))
    for at, trail in trails.items():
        x, y = sheet.corner(*at) + np.array([0.07, sheet.panel[1] - 0.07])
        style = {"fontsize": 9, "fontweight": "bold", "color": INK}
        axes.text(x, y, short(trail.best), ha="left", va="top", zorder=6, **style)


def _labels(axes: "Axes", sheet: Sheet, runs: Mapping[str, Sequence[Story]], scene: Scene) -> None:
    """Ticks and axis labels on the outer panels, algorithms on the left, seeds on top."""
    from matplotlib.collections import LineCollection
    from matplotlib.ticker import MaxNLocator

    small: dict[str, Any] = {"fontsize": 7, "color": INK}
    ticks = [
        [x for x in MaxNLocator(4).tick_values(a, b) if a < x < b]
        for a, b in zip(sheet.low, sheet.high, strict=True)
    ]
    marks = []
    for j in range(sheet.columns):
        row = max(i for i, stories in enumerate(runs.values()) if len(stories) > j)
        x0, y0 = sheet.corner(row, j)
        for value in ticks[0]:
            x = sheet.place([(value, 0.0)], row, j)[0, 0]
            marks.append([(x, y0), (x, y0 - TICK)])
            axes.text(x, y0 - 2 * TICK, f"{value:g}", ha="center", va="top", **small)
        middle = x0 + sheet.panel[0] / 2
        label = {"ha": "center", "va": "top", "fontsize": 8, "color": INK}
        axes.text(middle, y0 - 0.2, scene.labels[0], **label)
    for i, (name, stories) in enumerate(runs.items()):
        x0, y0 = sheet.corner(i, 0)
        for value in ticks[1]:
            y = sheet.place([(0.0, value)], i, 0)[0, 1]
            marks.append([(x0, y), (x0 - TICK, y)])
            axes.text(x0 - 2 * TICK, y, f"{value:g}", ha="right", va="center", **small)
        middle = y0 + sheet.panel[1] / 2
        turned: dict[str, Any] = {"rotation": 90, "va": "center", "color": INK}
        axes.text(x0 - 0.33, middle, scene.labels[1], ha="right", fontsize=8, **turned)
        bold = {"fontsize": 11, "fontweight": "bold"}
        axes.text(x0 - 0.62, middle, name_of(name).upper(), ha="center", **bold, **turned)
        if i == 0:
            for j, story in enumerate(stories):
                x, y = sheet.corner(0, j) + sheet.panel * [0.5, 1.0]
                seed = f"seed {story.run.config.seed}"
                axes.text(x, y + 0.06, seed, ha="center", va="bottom", fontsize=9, color=INK)
    axes.add_collection(LineCollection(marks, colors=FAINT, linewidths=0.6))


def _box(low: NDArray[np.float64], high: NDArray[np.float64]) -> list[tuple[float, float]]:
    """The corners of a rectangle."""
    return [(low[0], low[1]), (high[0], low[1]), (high[0], high[1]), (low[0], high[1])]


def _legend(figure: "Figure", members: int, scene: Scene) -> None:
    from matplotlib.legend_handler import HandlerTuple
    from matplotlib.lines import Line2D

    entries: dict[str, Any] = {}
    if scene.start:
        entries["start"] = Line2D([], [], linestyle="none", **STAR)
    if scene.walls:
        entries["wall"] = Line2D([], [], color=WALL, linewidth=2)
    for member in range(min(members, len(HUES))):
        label = f"member {member}" + (", …" if member + len(HUES) < members else "")
        entries[label] = tuple(
            Line2D([], [], marker="D", markersize=4.5, color=tuple(color), linestyle="none")
            for color in shades(np.full(5, member), np.linspace(0.0, 1.0, 5))
        )
    width, height = figure.get_size_inches()
    lines = _caption(width)
    figure.text(
        0.5, 0.08 / height, "\n".join(lines), ha="center", va="bottom", fontsize=8, color=INK,
        linespacing=LINE * 72 / 8 / 1.2,
    )  # fmt: skip
    figure.legend(
        list(entries.values()),
        list(entries),
        loc="lower center",
        bbox_to_anchor=(0.5, (0.02 + LINE * len(lines)) / height),
        ncols=math.ceil(ENTRIES / _legend_rows(width)),
        fontsize=8,
        frameon=False,
        handler_map={tuple: HandlerTuple(ndivide=None, pad=0.0)},
    )


def _legend_rows(width: float) -> int:
    """How many rows the longest legend needs in a figure of this width, in inches."""
    return math.ceil(ENTRIES / max(1.0, width // ENTRY))


def _caption(width: float) -> list[str]:
    return textwrap.wrap(CAPTION, int(width / LETTER))
