"""Charts as files, by Matplotlib: a figure of one run, or of a comparison with a panel per task."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nses.experiment.analysis.comparison import Contest
from nses.experiment.analysis.stories import AXES, Story
from nses.experiment.showing import charts
from nses.experiment.showing.charts import BAND, MEDIAN_WIDTH, RUN, Chart, Line, Median
from nses.experiment.showing.drawing import INK, name_of, plainly, quiet, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLUMNS = 4  # of panels, at most
POINTS = 0.63  # on paper, per pixel of a page


def curve(story: Story, path: Path) -> None:
    """Draw the returns of one run to `path` (PNG) and to a PDF beside it."""
    c = story.run.config
    title = f"{name_of(c.task)}, {c.algorithm.upper()}, seed {c.seed}"
    _panels([(title, charts.learning_of(story, "generation"))], path, (5.2, 3.2))


def curves(contests: Sequence[Contest], axis: str, path: Path) -> None:
    """Draw the best score so far, a panel per task."""
    _panels([(name_of(c.task), charts.learning(c.groups, axis)) for c in contests], path)


def weights(contests: Sequence[Contest], path: Path) -> bool:
    """Draw the weight w of reward of algorithms that adapt it; False if none does."""
    return _present([(name_of(c.task), charts.weights(c.groups)) for c in contests], path)


def allocations(contests: Sequence[Contest], path: Path) -> bool:
    """Draw which updates went to members past the trap; False if no task has a trap."""
    return _present([(name_of(c.task), charts.allocation(c.groups)) for c in contests], path)


def archives(contests: Sequence[Contest], path: Path) -> None:
    """Draw how much of the behavior space the runs cover; if it is not 2-D, their mean novelty."""
    _panels([(name_of(c.task), charts.exploration(c.groups)) for c in contests], path)


def _present(shown: Sequence[tuple[str, Chart | None]], path: Path) -> bool:
    """Draw the charts that there are; False if there is none."""
    drawn = [(title, chart) for title, chart in shown if chart is not None]
    if drawn:
        _panels(drawn, path)
    return bool(drawn)


@plainly()
def _panels(
    drawn: Sequence[tuple[str, Chart]], path: Path, alone: tuple[float, float] = (5.2, 3.4)
) -> None:
    """A panel per title and chart, as PNG and PDF; a single panel has the size `alone` (inches)."""
    from matplotlib.figure import Figure

    columns = min(math.ceil(math.sqrt(len(drawn))), COLUMNS)
    rows = -(-len(drawn) // columns)
    size = alone if len(drawn) == 1 else (3.2 * columns, 2.7 * rows)
    figure = Figure(size, facecolor="white", layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False).ravel()
    for axes, (title, chart) in zip(grid, drawn, strict=False):
        _draw(axes, chart)
        axes.set_title(title, fontsize=9, color=INK)
    for axes in grid[len(drawn) :]:
        axes.set_axis_off()
    save(figure, path)


def _draw(axes: "Axes", chart: Chart) -> None:
    from matplotlib.ticker import PercentFormatter

    for median in chart.medians:
        _draw_median(axes, median)
    named: set[str] = set()
    for line in chart.lines:
        hidden = line.aside or line.label in named
        _draw_line(axes, line, "_" if hidden else _legend(line, chart))
        named.add(line.label)
    axes.set_ylim(chart.low, chart.high)
    axes.set_xlabel(AXES[chart.axis], fontsize=8, color=INK)
    axes.set_ylabel(chart.y, fontsize=8, color=INK)
    if axes.get_legend_handles_labels()[1]:
        axes.legend(fontsize=7, framealpha=0.8, edgecolor="none")  # lines run behind it
    if chart.is_share:
        axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    if chart.axis == "generation":
        axes.locator_params(axis="x", integer=True)
    axes.ticklabel_format(axis="x", style="sci", scilimits=(-2, 5))
    axes.xaxis.get_offset_text().set_fontsize(7)
    quiet(axes)


def _draw_median(axes: "Axes", median: Median) -> None:
    """The median, solid and dashed, and its interval."""
    curve, label = median.curve, _counted(median.label, median.runs)
    style: dict[str, Any] = {"color": median.color, "linewidth": POINTS * MEDIAN_WIDTH}
    for where, dashed in median.stretches():
        y = np.where(where, curve.median, np.nan)
        dash = "--" if dashed else "-"
        axes.plot(curve.x, y, **style, **_dot(curve.x), linestyle=dash, label=label)
        label = "_"  # once in the legend
    axes.fill_between(curve.x, curve.low, curve.high, color=median.color, alpha=BAND, linewidth=0)


def _draw_line(axes: "Axes", line: Line, label: str) -> None:
    style: dict[str, Any] = {"color": line.color, "linewidth": POINTS * line.width}
    style |= {"drawstyle": "steps-post"} if line.steps else {}
    style |= {} if line.seed is None else {"alpha": RUN}
    axes.plot(line.x, line.y, **style, **_dot(line.x), label=label)


def _dot(x: Any) -> dict[str, Any]:
    """A marker for a line of a single point, which would be invisible."""
    return {"marker": "o", "markersize": 3} if len(x) == 1 else {}


def _legend(line: Line, chart: Chart) -> str:
    if line.seed is None:
        return name_of(line.label)
    return _counted(line.label, sum(other.label == line.label for other in chart.lines))


def _counted(label: str, runs: int) -> str:
    return f"{name_of(label)} ({runs} run{'s' * (runs > 1)})"
