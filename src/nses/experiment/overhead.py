"""Runs from above, as in the paper's Fig. 2: every behavior that the population has shown."""

import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nses.experiment.drawing import HUES, INK, WALL, quiet, save, shades
from nses.experiment.progress import short
from nses.experiment.scenes import Scene
from nses.experiment.stories import Story

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STAR: dict[str, Any] = {
    "marker": "*", "markersize": 8, "color": "#ffd24a", "markeredgecolor": INK,
    "markeredgewidth": 0.6,
}  # fmt: skip
CAPTION = (
    "One diamond per generation at the behavior of the updated member, "
    "darker = later; the number is the best return of the run."
)
PANEL = 1.85  # inches: the width of one, a line of text, a legend entry and a letter of 8 points
LINE, ENTRY, LETTER = 0.18, 1.15, 0.065
TONES = 12  # of a member's colour, from its first generation to its last
ENTRIES = 2 + len(HUES)  # of the longest legend: start, wall, members


@dataclass(frozen=True, eq=False)
class Trace:
    """A run from above: where its updated member ended, generation by generation."""

    b: NDArray[np.float64]  # (T, 2)
    member: NDArray[np.int64]  # (T,)
    age: NDArray[np.float64]  # (T,) 0 for the first generation, 1 for the last of the settings
    best: float | None


def trace_of(story: Story) -> Trace:
    records = [r for r in story.records if len(r.get("behavior") or ()) == 2]
    generation = np.array([r["generation"] for r in records], np.float64)
    return Trace(
        b=np.array([r["behavior"] for r in records], np.float64).reshape(-1, 2),
        member=np.array([r["member"] for r in records], np.int64),
        age=(generation - 1) / max(story.run.config.generations - 1, 1),
        best=records[-1]["best"] if records else None,
    )


def overhead(runs: Mapping[str, Sequence[Story]], scene: Scene, path: Path) -> None:
    """The paper's Fig. 2, to `path` (PNG) and beside it as PDF.

    A row per algorithm, a column per seed: one diamond per generation at the final (x, y) of the
    updated member, one colour per member, darker for later ones. Behaviors have two dimensions.
    """
    traces = {algorithm: [trace_of(story) for story in row] for algorithm, row in runs.items()}
    every = [trace for row in traces.values() for trace in row]
    low, high = _limits(every, scene)
    ratio = float(np.clip((high[1] - low[1]) / (high[0] - low[0]), 0.5, 1.6))
    figure, grid = _grid(len(traces), max(len(row) for row in traces.values()), ratio)
    for row, (algorithm, shown) in zip(grid, traces.items(), strict=True):
        for axes, trace in zip(row, shown, strict=False):
            _panel(axes, trace, scene)
        for axes in row[len(shown) :]:
            axes.set_axis_off()
        row[0].set_ylabel(scene.labels[1], fontsize=8, color=INK, labelpad=1)
        row[0].annotate(
            algorithm.upper(), (0, 0.5), (-0.62 * 72, 0), "axes fraction", "offset points",
            rotation=90, ha="center", va="center", fontsize=11, fontweight="bold", color=INK,
        )  # fmt: skip
    for axes, story in zip(grid[0], next(iter(runs.values())), strict=False):
        axes.set_title(f"seed {story.run.config.seed}", fontsize=9, color=INK, pad=4)
    for axes in grid[-1]:
        axes.set_xlabel(scene.labels[0], fontsize=8, color=INK, labelpad=1)
    grid[0, 0].set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    _legend(figure, max((int(m) + 1 for trace in every for m in trace.member), default=0), scene)
    save(figure, path)


def _limits(
    traces: Sequence[Trace], scene: Scene
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Lowest and highest (x, y) of all there is to see, and a margin."""
    corners = [[(x0, y0), (x1, y1)] for x0, x1, y0, y1 in scene.walls]
    points = [*corners, *(trace.b for trace in traces), *([[scene.start]] if scene.start else [])]
    seen = np.concatenate([np.empty((0, 2)), *(np.reshape(p, (-1, 2)) for p in points)])
    seen = seen[np.isfinite(seen).all(axis=1)]
    if not len(seen):
        return np.array([-1.0, -1.0]), np.array([1.0, 1.0])
    low, high = seen.min(axis=0), seen.max(axis=0)
    margin = max(0.05 * float((high - low).max()), 1e-6)
    return low - margin, high + np.array([margin, 2.5 * margin])  # room for the number on top


def _grid(rows: int, columns: int, ratio: float) -> "tuple[Figure, NDArray[Any]]":
    """An empty figure with its panels, (rows, columns), as wide as PANEL and `ratio` as high."""
    from matplotlib.figure import Figure

    left, right, top, bottom, gap = 0.75, 0.12, 0.35, 0.5, 0.09  # inches
    width = left + columns * PANEL + (columns - 1) * gap + right
    bottom += LINE * (_legend_rows(width) + len(_caption(width)))
    height = top + rows * ratio * PANEL + (rows - 1) * gap + bottom
    figure = Figure((width, height), facecolor="white")
    spacing = {
        "left": left / width,
        "right": 1 - right / width,
        "top": 1 - top / height,
        "bottom": bottom / height,
        "wspace": gap / PANEL,
        "hspace": gap / (ratio * PANEL),
    }
    grid = figure.subplots(
        rows, columns, squeeze=False, sharex=True, sharey=True, gridspec_kw=spacing
    )
    return figure, grid


def _panel(axes: "Axes", trace: Trace, scene: Scene) -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Rectangle

    tone = np.minimum(trace.age * TONES, TONES - 1).astype(int)
    for key in np.unique(np.stack([tone, trace.member], axis=1), axis=0):  # the later on top
        where = (tone == key[0]) & (trace.member == key[1])
        (color,) = shades(key[1:], (key[:1] + 0.5) / TONES)
        # Markers of one colour at a time: many times faster to save than one colour each.
        style = {"marker": "D", "markersize": 2.4, "markeredgewidth": 0, "linestyle": "none"}
        axes.add_artist(Line2D(*trace.b[where].T, color=tuple(color), zorder=3, **style))
    for x0, x1, y0, y1 in scene.walls:  # above the diamonds, which are larger than the robot
        wall = Rectangle((x0, y0), x1 - x0, y1 - y0, color=WALL, linewidth=0.6, zorder=4)
        axes.add_patch(wall)
    if scene.start:
        axes.plot(*scene.start, zorder=5, **STAR)
    axes.text(
        0.04, 0.955, short(trace.best), transform=axes.transAxes, ha="left", va="top", fontsize=9,
        fontweight="bold", color=INK,
    )  # fmt: skip
    axes.set_aspect("equal", adjustable="box")
    axes.locator_params(nbins=4)
    quiet(axes)


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
    """How many an inch-wide figure needs for its longest legend."""
    return math.ceil(ENTRIES / max(1.0, width // ENTRY))


def _caption(width: float) -> list[str]:
    return textwrap.wrap(CAPTION, int(width / LETTER))
