"""The figures of the dashboard; this module does not know Dash."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from nses.experiment.analysis.groups import Group, grouped
from nses.experiment.analysis.live import Live, View
from nses.experiment.analysis.planes import GENERATION, Plane, axes_of, label_on, plane_of
from nses.experiment.analysis.stories import Story
from nses.experiment.showing import charts, plots
from nses.experiment.showing.drawing import FAINT
from nses.experiment.showing.plot_parts import FONT, NOTHING
from nses.experiment.showing.plots import Figure
from nses.words import short

CURVE_POINTS = 150  # of a median with its interval
PLOTS = {  # place → title and caption
    "compared": ("All runs of this task", charts.MEDIANS),
    "map": ("Where policies ended", charts.DIAMONDS),
    "curves": ("Learning of this run", charts.LUCKY),
    "archive": ("Archive of this run", charts.ARCHIVED),
    "selection": ("Which member is updated", charts.SELECTED),
    "exploration": ("Exploration", charts.EXPLORED),
    "weight": ("Weight of reward against novelty", charts.WEIGHED),
    "allocation": ("Where updates went", charts.ALLOCATED),
}

OPTIONAL = ("selection", "weight", "allocation")  # plots that not every task or algorithm has

Options = list[dict[str, Any]]  # of a list to choose from


def figures_of(
    view: View, live: Live | None, axis: str, remembered: dict[tuple[str, ...], Any]
) -> tuple[list[Figure], list[str]]:
    """All figures but the map, and what went wrong: other people's files may hold anything."""
    if live is None or not live.story.records:
        return [nothing("No generation has finished yet.")] * (len(PLOTS) - 1), []
    story, task = live.story, live.story.run.config.task
    same = [run.story for run in view.runs if run.story.run.config.task == task]
    groups = [
        Group(label, s[0].run.config.algorithm, tuple(s)) for label, s in grouped(same).items()
    ]
    begun = [Group(g.label, g.algorithm, tuple(s for s in g.stories if s.records)) for g in groups]
    drawn = {
        "compared": lambda: plots.figure_of(charts.learning(_coarse(groups), axis)),
        "curves": lambda: plots.figure_of(charts.learning_of(story, axis), story.run.path),
        "archive": lambda: plots.archive(story),
        "selection": lambda: plots.selection(story) or nothing("There is only one member."),
        "exploration": lambda: plots.figure_of(charts.exploration(begun)),
        "weight": lambda: _weights(begun),
        "allocation": lambda: _allocation(begun),
    }
    key = (view.stamp, live.name, axis)
    kept = remembered.get(key)
    if kept is None:  # several pages may show the same
        results = [guarded(draw) for draw in drawn.values()]
        kept = [f for f, _ in results], [fault for _, fault in results if fault]
        remembered.clear()
        remembered[key] = kept
    return kept


def without_content(figures: Sequence[Figure], live: Live | None) -> list[bool]:
    """Which optional plots have nothing to show for this run, and never will."""
    begun = live is not None and bool(live.story.records)
    shown = dict(zip((name for name in PLOTS if name != "map"), figures, strict=True))
    return [begun and not shown[name]["data"] for name in OPTIONAL]


def _weights(groups: Sequence[Group]) -> Figure:
    chart = charts.weights(groups)
    return plots.figure_of(chart) if chart else nothing("No algorithm here adapts its weight.")


def _allocation(groups: Sequence[Group]) -> Figure:
    chart = charts.allocation(groups)
    return plots.figure_of(chart) if chart else nothing("This task has no trap.")


def axes_to_choose(story: Story | None) -> tuple[Options, Options, Plane | None]:
    """Those of a map, across and up, and the plane to begin with; None if there is no map."""
    plane = None if story is None or not story.records else plane_of([story])
    if story is None or plane is None:
        return [], [], None
    up = [{"label": label_on(story, axis), "value": axis} for axis in axes_of([story])]
    return [{"label": "generation", "value": GENERATION}, *up], up, plane


def behavior_in(story: Story, generation: int) -> str:
    """The behavior of a generation in words: the numbers that the map offers."""
    b = story.behaviors
    at = story.column("generation").tolist().index(generation)
    if b is None:
        return ""
    return ", ".join(f"{label_on(story, i)} {short(float(b[at, i]))}" for i in axes_of([story]))


def _coarse(groups: Sequence[Group]) -> list[Group]:
    """Every n-th generation and the last: intervals of all of them would take too long."""
    longest = max(len(story.records) for group in groups for story in group.stories)
    step = -(-longest // CURVE_POINTS)
    return [
        replace(
            group,
            stories=tuple(
                replace(s, records=[*s.records[:-1:step], *s.records[-1:]]) for s in group.stories
            ),
        )
        for group in groups
    ]


def guarded(draw: Callable[[], Figure]) -> tuple[Figure, str]:
    try:
        return draw(), ""
    except Exception as error:  # numbers that training never writes
        return nothing("This plot cannot be drawn."), f"a plot cannot be drawn: {error!r}"


def nothing(words: str) -> Figure:
    middle = {"xref": "paper", "yref": "paper", "x": 0.5, "y": 0.5, "showarrow": False}
    note = middle | {"text": words, "font": FONT | {"color": FAINT}}
    hidden = {"visible": False}
    blank = {"paper_bgcolor": NOTHING, "plot_bgcolor": NOTHING, "dragmode": False}
    return {"data": [], "layout": {"annotations": [note], "xaxis": hidden, "yaxis": hidden} | blank}
