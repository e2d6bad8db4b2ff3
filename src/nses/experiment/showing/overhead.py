"""Runs from above, as in the paper's Fig. 2: every behavior that the population has shown."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nses.experiment.analysis.planes import Plane, Trail, frame_of, label_on, trail_of
from nses.experiment.analysis.stories import Story
from nses.experiment.showing.charts import DIAMONDS
from nses.experiment.showing.drawing import (
    FAINT,
    GOAL,
    HUES,
    INK,
    STAR_COLOR,
    WALL,
    name_of,
    plainly,
    save,
    shades,
    tick_texts,
)
from nses.experiment.showing.sheets import LEFT, LINE, TICK, Sheet, Spot, arranged
from nses.rollouts.tasks.scene import Scene
from nses.words import short

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

STAR: dict[str, Any] = {
    "marker": "*", "markersize": 8, "color": STAR_COLOR, "markeredgecolor": INK,
    "markeredgewidth": 0.6,
}  # fmt: skip
CAPTION = f"{DIAMONDS} The number is the best return of the run."
TONES = 12  # shades of a member's colour, from its first generation to its last
ENTRIES = 3 + len(HUES)  # of the longest legend: start, wall, goal, members


@dataclass(frozen=True, eq=False)
class Panel:
    """A run in its place on the sheet."""

    at: Spot
    title: str  # above the panel or in it
    trail: Trail
    scene: Scene


@plainly()
def overhead(
    runs: Mapping[str, Sequence[Story]], scenes: Sequence[Scene], plane: Plane, path: Path
) -> None:
    """Draw the paper's Fig. 2 to `path` (PNG) and to a PDF beside it; a scene per group of runs.

    A row per algorithm, a column per seed: one diamond per generation at the behavior of the
    updated member, one colour per member, darker for later ones.
    """
    from matplotlib.figure import Figure

    trails = [[trail_of(story, plane) for story in row] for row in runs.values()]
    scenes = [scene if plane.has_scene else Scene() for scene in scenes]
    every = Scene(
        tuple(wall for scene in scenes for wall in scene.walls),
        tuple(goal for scene in scenes for goal in scene.goals),
        next((scene.start for scene in scenes if scene.start), None),
    )
    frame = frame_of(np.concatenate([t.b for row in trails for t in row]), plane, every)
    room = 0.07 * (frame.high - frame.low)  # for the number at the top
    above = np.array([0.0, room.max() if frame.equal else room[1]])
    frame = replace(frame, high=frame.high + above)
    ticks = [_ticks(frame.low[i], frame.high[i], whole=i == 0 > plane.x) for i in (0, 1)]
    longest = max((len(text) for text in ticks[1].values()), default=0)
    blank = Sheet(frame, 1, 1, left=LEFT + 0.055 * longest, legend=ENTRIES, caption=CAPTION)
    layout = arranged([len(row) for row in trails], blank)
    sheet = layout.sheet
    panels = [
        Panel(at, _title(group, story, layout.by_group), trail, scene)
        for (group, row), spots, lines, scene in zip(
            runs.items(), layout.spots, trails, scenes, strict=True
        )
        for story, at, trail in zip(row, spots, lines, strict=True)
    ]
    figure = Figure((sheet.width, sheet.height), facecolor="white")
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set(xlim=(0, sheet.width), ylim=(0, sheet.height))
    axes.set_axis_off()
    _diamonds(axes, sheet, panels)
    _surroundings(axes, sheet, panels)
    first = next(story for row in runs.values() for story in row)
    names = [name_of(label_on(first, i)) for i in (plane.x, plane.y)]
    _sides(axes, sheet, panels, ticks, names)
    _titles(axes, sheet, panels)
    if layout.by_group:
        _groups(axes, sheet, [(n, s[0][0]) for n, s in zip(runs, layout.spots, strict=True) if s])
    _legend(figure, sheet, panels, every)
    save(figure, path)


def _title(group: str, story: Story, by_group: bool) -> str:
    seed = f"seed {story.run.config.seed}"
    return seed if by_group else f"{name_of(group)}, {seed}"


def _diamonds(axes: "Axes", sheet: Sheet, panels: Sequence[Panel]) -> None:
    """One colour at a time, later ones on top: drawing each diamond would take far longer."""
    from matplotlib.lines import Line2D

    b = np.concatenate([sheet.place(panel.trail.b, *panel.at) for panel in panels])
    member = np.concatenate([panel.trail.member for panel in panels])
    age = np.concatenate([panel.trail.age for panel in panels])
    tone = np.minimum(age * TONES, TONES - 1).astype(int)
    style = {"marker": "D", "markersize": 2.4, "markeredgewidth": 0, "linestyle": "none"}
    for key in np.unique(np.stack([tone, member], axis=1), axis=0):
        (color,) = shades(key[1:], (key[:1] + 0.5) / TONES)
        points = b[(tone == key[0]) & (member == key[1])]
        axes.add_artist(Line2D(*points.T, color=tuple(color), zorder=3, **style))


def _surroundings(axes: "Axes", sheet: Sheet, panels: Sequence[Panel]) -> None:
    """Frames, walls, goals, where episodes start, and the number of each run."""
    from matplotlib.collections import PolyCollection
    from matplotlib.colors import to_rgba
    from matplotlib.lines import Line2D

    frames = [
        _box(sheet.corner(*panel.at), sheet.corner(*panel.at) + sheet.panel) for panel in panels
    ]
    walls, goals = (
        [
            _box(*sheet.place([(x0, y0), (x1, y1)], *panel.at))
            for panel in panels
            for x0, x1, y0, y1 in getattr(panel.scene, kind)
        ]
        for kind in ("walls", "goals")
    )
    styles: list[tuple[list[Any], dict[str, Any]]] = [
        (goals, {"facecolors": to_rgba(GOAL, 0.2), "edgecolors": GOAL, "zorder": 1}),
        (frames, {"facecolors": "none", "edgecolors": FAINT, "zorder": 2}),
        # Above the diamonds, which are larger than the robot:
        (walls, {"facecolors": WALL, "edgecolors": WALL, "zorder": 4}),
    ]
    for boxes, style in styles:
        axes.add_collection(PolyCollection(boxes, linewidths=0.6, **style))
    starts = [sheet.place(p.scene.start, *p.at) for p in panels if p.scene.start]
    stars = np.concatenate([np.empty((0, 2)), *starts])
    if len(stars):
        axes.add_artist(Line2D(*stars.T, linestyle="none", zorder=5, **STAR))
    for panel in panels:
        x, y = sheet.corner(*panel.at) + np.array([0.07, sheet.panel[1] - 0.07])
        bold = {"fontsize": 9, "fontweight": "bold", "color": INK}
        axes.text(x, y, short(panel.trail.best), ha="left", va="top", zorder=6, **bold)


def _ticks(low: float, high: float, whole: bool) -> dict[float, str]:
    """Where the ticks of an axis are, and what they say."""
    from matplotlib.ticker import MaxNLocator

    locator = MaxNLocator(4, integer=whole)
    values = [float(x) + 0.0 for x in locator.tick_values(low, high) if low < x < high]
    return dict(zip(values, tick_texts(values), strict=True))


def _sides(
    axes: "Axes",
    sheet: Sheet,
    panels: Sequence[Panel],
    ticks: Sequence[Mapping[float, str]],
    names: Sequence[str],
) -> None:
    """Ticks and names of the axes, below the lowest panels and left of the leftmost."""
    from matplotlib.collections import LineCollection

    small: dict[str, Any] = {"fontsize": 7, "color": INK}
    large: dict[str, Any] = {"fontsize": 8, "color": INK}
    marks = []
    lowest = {panel.at[1]: panel.at[0] for panel in sorted(panels, key=lambda p: p.at)}
    for column, row in lowest.items():
        x0, y0 = sheet.corner(row, column)
        for value, text in ticks[0].items():
            x = sheet.place([(value, 0.0)], row, column)[0, 0]
            marks.append([(x, y0), (x, y0 - TICK)])
            axes.text(x, y0 - 2 * TICK, text, ha="center", va="top", **small)
        axes.text(x0 + sheet.panel[0] / 2, y0 - 0.2, names[0], ha="center", va="top", **large)
    for row in sorted({panel.at[0] for panel in panels}):
        x0, y0 = sheet.corner(row, 0)
        for value, text in ticks[1].items():
            y = sheet.place([(0.0, value)], row, 0)[0, 1]
            marks.append([(x0, y), (x0 - TICK, y)])
            axes.text(x0 - 2 * TICK, y, text, ha="right", va="center", **small)
        middle = y0 + sheet.panel[1] / 2
        left = x0 - (sheet.left - LEFT) - 0.1
        axes.text(left, middle, names[1], ha="right", va="center", rotation=90, **large)
    axes.add_collection(LineCollection(marks, colors=FAINT, linewidths=0.6))


def _titles(axes: "Axes", sheet: Sheet, panels: Sequence[Panel]) -> None:
    """Above a column whose panels have the same title, else inside each of them."""
    columns: dict[int, set[str]] = {}
    for panel in panels:
        columns.setdefault(panel.at[1], set()).add(panel.title)
    same = all(len(titles) == 1 for titles in columns.values())
    for panel in panels:
        x, y = sheet.corner(*panel.at)
        if not same:
            under = {"facecolor": "white", "alpha": 0.7, "linewidth": 0, "pad": 1}
            words: dict[str, Any] = {"fontsize": 7, "color": INK, "bbox": under, "zorder": 6}
            axes.text(x + 0.05, y + 0.05, panel.title, ha="left", va="bottom", **words)
        elif panel.at[0] == 0:
            middle, top = x + sheet.panel[0] / 2, y + sheet.panel[1] + 0.06
            axes.text(middle, top, panel.title, ha="center", va="bottom", fontsize=9, color=INK)


def _groups(axes: "Axes", sheet: Sheet, rows: Sequence[tuple[str, int]]) -> None:
    """The name of each group on the left of its first row."""
    for name, row in rows:
        y = sheet.corner(row, 0)[1]
        bold: dict[str, Any] = {"fontsize": 11, "fontweight": "bold", "color": INK}
        turned: dict[str, Any] = {"rotation": 90, "ha": "center", "va": "center"}
        axes.text(0.16, y + sheet.panel[1] / 2, name_of(name).upper(), **bold, **turned)


def _box(low: NDArray[np.float64], high: NDArray[np.float64]) -> list[tuple[float, float]]:
    """The corners of a rectangle."""
    return [(low[0], low[1]), (high[0], low[1]), (high[0], high[1]), (low[0], high[1])]


def _legend(figure: "Figure", sheet: Sheet, panels: Sequence[Panel], scene: Scene) -> None:
    from matplotlib.legend_handler import HandlerTuple
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    entries: dict[str, Any] = {}
    if scene.start:
        entries["start"] = Line2D([], [], linestyle="none", **STAR)
    if scene.walls:
        entries["wall"] = Line2D([], [], color=WALL, linewidth=2)
    if scene.goals:
        entries["goal"] = Patch(facecolor=f"{GOAL}33", edgecolor=GOAL, linewidth=0.6)
    members = max((int(m) + 1 for panel in panels for m in panel.trail.member), default=0)
    for member in range(min(members, len(HUES))):
        label = f"member {member}" + (", …" if member + len(HUES) < members else "")
        entries[label] = tuple(
            Line2D([], [], marker="D", markersize=4.5, color=tuple(color), linestyle="none")
            for color in shades(np.full(5, member), np.linspace(0.0, 1.0, 5))
        )
    lines = sheet.caption_lines
    figure.text(
        0.5, 0.08 / sheet.height, "\n".join(lines), ha="center", va="bottom", fontsize=8, color=INK,
        linespacing=LINE * 72 / 8 / 1.2,
    )  # fmt: skip
    figure.legend(
        list(entries.values()),
        list(entries),
        loc="lower center",
        bbox_to_anchor=(0.5, (0.02 + LINE * len(lines)) / sheet.height),
        ncols=math.ceil(ENTRIES / sheet.legend_rows),
        fontsize=8,
        frameon=False,
        handler_map={tuple: HandlerTuple(ndivide=None, pad=0.0)},
    )
