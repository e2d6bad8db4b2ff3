"""Pictures of runs along time: returns, the weight, and how much of the behavior space was seen."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nses.core.algorithms import ALGORITHMS
from nses.experiment.analysis.comparison import Contest, Group
from nses.experiment.analysis.stories import AXES, Story, coverage
from nses.experiment.showing.drawing import HUES, INK, colors_of, name_of, plainly, quiet, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLUMNS = 4  # of panels, at most


@plainly()
def curve(story: Story, path: Path) -> None:
    """How the returns of one run grew, to `path` (PNG) and beside it as PDF."""
    from matplotlib.figure import Figure

    records = story.records
    t = [record["generation"] for record in records]
    figure = Figure((5.2, 3.2), facecolor="white", layout="constrained")
    axes = figure.subplots()
    lines = {
        "best": ("best so far", {"color": INK, "linewidth": 1.6, "drawstyle": "steps-post"}),
        "score": ("updated member", {"color": HUES[0], "linewidth": 0.9}),
        "return_mean": ("mean of the candidates", {"color": HUES[1], "linewidth": 1.2}),
    }
    for name, (label, style) in lines.items():
        y = story.column(name)
        axes.plot(t, y, label=label, marker="o" if len(t) == 1 else "", markersize=3, **style)
    c = story.run.config
    axes.set_title(
        f"{name_of(c.task)}, {c.algorithm.upper()}, seed {c.seed}", fontsize=9, color=INK
    )
    axes.set_xlabel("generation", fontsize=8, color=INK)
    axes.set_ylabel("return", fontsize=8, color=INK)
    axes.legend(fontsize=7, frameon=False)
    axes.locator_params(axis="x", integer=True)
    quiet(axes)
    save(figure, path)


def curves(contests: Sequence[Contest], axis: str, path: Path) -> None:
    """The best score so far, a panel per task: the median over runs and its 95 % interval.

    Dotted where some runs of a group have not got that far.
    """

    def draw(axes: "Axes", contest: Contest) -> None:
        for group, style in _styled(contest.groups):
            curve = group.curve(axis)
            if curve is None:
                continue
            whole = curve.runs == len(group.stories)
            label = _label(group)
            for there, line in ((whole, style), (~whole, {**style, "linestyle": ":"})):
                y = np.where(there | _next_to(there), curve.median, np.nan)
                marker = "o" if len(curve.x) == 1 else ""
                axes.plot(curve.x, y, **line, label=label, marker=marker, markersize=3)
                label = "_"  # once in the legend
            axes.fill_between(
                curve.x, curve.low, curve.high, color=style["color"], alpha=0.18, linewidth=0
            )
        axes.set_xlabel(AXES[axis], fontsize=8, color=INK)
        axes.set_ylabel("best return so far", fontsize=8, color=INK)

    _panels(contests, draw, path)


def weights(contests: Sequence[Contest], path: Path) -> bool:
    """The weight w of reward where it adapts: a line per run. False where it does in none."""
    moving = [c for c in contests if any(map(_adapts, c.groups))]

    def draw(axes: "Axes", contest: Contest) -> None:
        for group, style in _styled(contest.groups):
            if not _adapts(group):
                continue
            for i, story in enumerate(group.stories):
                label = "_" if i else _label(group)
                thin = {**style, "linewidth": 0.8, "alpha": 0.8}
                axes.plot(story.column("generation"), story.column("weight"), **thin, label=label)
        axes.set_ylim(-0.03, 1.03)
        axes.set_xlabel("generation", fontsize=8, color=INK)
        axes.set_ylabel("w: novelty 0, reward 1", fontsize=8, color=INK)

    if moving:
        _panels(moving, draw, path)
    return bool(moving)


def archives(contests: Sequence[Contest], path: Path) -> None:
    """How much the archives cover: of a behavior space in two dimensions, else mean novelty."""

    def draw(axes: "Axes", contest: Contest) -> None:
        shares = coverage(contest.stories)
        rest = iter(shares or ())
        for group, style in _styled(contest.groups):
            for i, story in enumerate(group.stories):
                y = next(rest) if shares else story.column("novelty_mean")
                label = "_" if i else _label(group)
                thin = {**style, "linewidth": 0.8, "alpha": 0.8}
                axes.plot(story.column("generation"), y, **thin, label=label)
        what = "share of the cells that were seen" if shares else "mean novelty of the candidates"
        axes.set_xlabel("generation (one behavior each)", fontsize=8, color=INK)
        axes.set_ylabel(what, fontsize=8, color=INK)

    _panels(contests, draw, path)


@plainly()
def _panels(
    contests: Sequence[Contest], draw: Callable[["Axes", Contest], None], path: Path
) -> None:
    """A figure with a panel per task, to `path` (PNG) and beside it as PDF."""
    from matplotlib.figure import Figure

    columns = min(len(contests), COLUMNS)
    rows = -(-len(contests) // columns)
    size = (5.2, 3.4) if len(contests) == 1 else (3.2 * columns, 2.7 * rows)
    figure = Figure(size, facecolor="white", layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False).ravel()
    for axes, contest in zip(grid, contests, strict=False):
        draw(axes, contest)
        axes.set_title(name_of(contest.task), fontsize=9, color=INK)
        if axes.get_legend_handles_labels()[1]:
            axes.legend(fontsize=7, frameon=False)
        axes.ticklabel_format(axis="x", style="sci", scilimits=(-2, 5))
        axes.xaxis.get_offset_text().set_fontsize(7)
        quiet(axes)
    for axes in grid[len(contests) :]:
        axes.set_axis_off()
    save(figure, path)


def _adapts(group: Group) -> bool:
    """Whether its weight is not what its algorithm is defined by."""
    return ALGORITHMS[group.algorithm].w is None


def _styled(groups: Sequence[Group]) -> list[tuple[Group, dict[str, Any]]]:
    colors = colors_of([group.algorithm for group in groups])
    return [(g, {"color": c, "linewidth": 1.5}) for g, c in zip(groups, colors, strict=True)]


def _next_to(there: Any) -> Any:
    """One point more on the left, so that the parts of a line meet."""
    return np.append(there[1:], False)


def _label(group: Group) -> str:
    count = len(group.stories)
    return f"{name_of(group.label)} ({count} run{'s' * (count > 1)})"
