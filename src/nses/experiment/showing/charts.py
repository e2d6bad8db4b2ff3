"""A chart of runs over time, as a value; Matplotlib and Plotly render it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nses.core.values import Floats
from nses.experiment.analysis.allocation import WINDOW, allocation_of, trap_end_of
from nses.experiment.analysis.groups import Group
from nses.experiment.analysis.stories import CELLS, Curve, Story, coverage
from nses.experiment.showing.drawing import FAINT, HUES, INK, PALE, Color, colors_of

MEDIAN_WIDTH, RUN_WIDTH, THIN = 2.5, 1.3, 0.9  # of lines, in pixels of a page
BAND, RUN = 0.18, 0.75  # opacity of an interval, and of one run among many

LUCKY = (
    "Candidates: the mean of their returns. The best score so far is the maximum of noisy means, "
    "so it is too optimistic, unless an evaluation plays all starts of an episode."
)
EXACT = (
    "Candidates: the mean of their returns. The best score so far is exact: the mean over all "
    "starts of an episode."
)
MEDIANS = (
    "Median over the runs and its bootstrapped 95 % interval; dashed where some runs have not got "
    "that far."
)
EXPLORED = (
    f"One line per run: how much of a {CELLS} × {CELLS} grid over the behaviors of all these runs "
    "it has visited, or where behaviors are not points in a plane, how novel its candidates are."
)
ARCHIVED = (
    f"The size of the archive, and how much of a {CELLS} × {CELLS} grid over its behaviors was "
    "visited, or where behaviors are not points in a plane, how novel the candidates are."
)
WEIGHED = "One line per weight: w = 1 follows reward alone, w = 0 novelty alone."
SELECTED = "The probability of selecting each member, in proportion to its novelty (Eq. 1)."
ALLOCATED = (
    "Thick: the share of updates that went to members that had got past the trap, over all runs and"
    f" the last {WINDOW:.0%} of the generations; thin: the share of members that had."
)
DIAMONDS = "One diamond per generation, at the behavior of the updated member; darker is later."


@dataclass(frozen=True, eq=False)
class Line:
    """A line of one run."""

    label: str
    color: Color | str
    x: Floats
    y: Floats
    width: float = RUN_WIDTH
    steps: bool = False  # whether it is drawn as a staircase
    seed: int | None = None  # of the run, if there are several
    aside: bool = False  # left out of the legend: the axis says what it is


@dataclass(frozen=True, eq=False)
class Median:
    """The median of a group of runs, with its interval."""

    label: str
    color: Color
    curve: Curve
    runs: int  # in the group

    def stretches(self) -> Iterator[tuple[NDArray[np.bool_], bool]]:
        """Where it is solid (False), then where it is dashed (True): not all runs got that far."""
        partial = self.curve.runs < self.runs
        beside = np.append(partial[1:], False) | np.append(False, partial[:-1])  # so the two meet
        if not partial.all():
            yield ~partial, False
        if partial.any():
            yield partial | beside, True


@dataclass(frozen=True, eq=False)
class Chart:
    """A panel."""

    axis: str  # one of AXES
    y: str  # the label of the vertical axis
    lines: tuple[Line, ...] = ()
    medians: tuple[Median, ...] = ()
    low: float | None = None  # the ends of the vertical axis
    high: float | None = None
    number: str = ".5g"  # the format of a value
    goal: float | None = None  # the return above which the task is solved

    @property
    def curves(self) -> list[Curve]:
        return [median.curve for median in self.medians]

    @property
    def is_share(self) -> bool:
        return self.number.endswith("%")


def learning(groups: Sequence[Group], axis: str, goal: float | None = None) -> Chart:
    """The best score so far of each group."""
    medians = [
        Median(group.label, color, curve, len(group.stories))
        for group, color in _painted(groups)
        if (curve := group.curve(axis)) is not None
    ]
    return Chart(axis, "best return so far", medians=tuple(medians), goal=goal)


def learning_of(story: Story, axis: str) -> Chart:
    """The returns of one run, with a line per member."""
    x = story.column(axis)
    elsewhere = ", training environment" * bool(story.run.config.training_environment)
    lines = (
        Line(f"candidates{elsewhere}", FAINT, x, story.column("return_mean")),
        *_members(story, x),
        Line("best so far", INK, x, story.column("best"), MEDIAN_WIDTH, steps=True),
    )
    trained = story.column("training_mean")
    if np.isfinite(trained).any():
        lines += (Line("candidates, training reward", PALE, x, trained),)
    return Chart(axis, "return", lines)


def _members(story: Story, x: Floats) -> list[Line]:
    """The score of each member, which stays the same until its next update."""
    score, members = story.column("score"), _by_member(story)
    if len(members) < 2:
        return [Line(f"member {m}", HUES[0], x, score) for m in members]
    until = {m: np.append(at, len(x) - 1) for m, at in members.items()}
    return [
        Line(f"member {m}", HUES[m % len(HUES)], x[until[m]], score[[*at, at[-1]]], steps=True)
        for m, at in members.items()
    ]


def weights(groups: Sequence[Group]) -> Chart | None:
    """The weight w of reward against novelty; None where no algorithm adapts it."""
    owners = [(g, color, story) for g, color in _painted(groups) for story in g.stories]
    adapting = [(owner, owner[2].column("weight")) for owner in owners if owner[0].adapts]
    lines = [
        _line(*owner, w[at], steps=True, at=at)
        for owner, w in adapting
        for at in _weighed(owner[2])
    ]
    if not lines:
        return None
    y = "weight w of reward"
    return Chart("generation", y, tuple(lines), low=-0.03, high=1.03, number=".2f")


def _weighed(story: Story) -> list[NDArray[np.int64]]:
    """The generations of each weight: there may be one per member."""
    if story.run.config.weight_per_member:
        return list(_by_member(story).values())
    return [np.arange(len(story.records))]


def _by_member(story: Story) -> dict[int, NDArray[np.int64]]:
    """Which lines of the log are about each member."""
    member = story.column("member").astype(np.int64)
    return {m: np.flatnonzero(member == m) for m in np.unique(member).tolist()}


def exploration(groups: Sequence[Group]) -> Chart:
    """How much of the behavior space each run has visited; its novelty if that is not a plane."""
    owners = [(g, color, story) for g, color in _painted(groups) for story in g.stories]
    shares = coverage([story for _, _, story in owners])
    if shares is None:
        measured = [(owner, owner[2].column("novelty_mean")) for owner in owners]
        novelty = [_line(*owner, y) for owner, y in measured if np.isfinite(y).any()]  # not of ES
        return Chart("generation", "mean novelty", tuple(novelty), number=".4g")
    lines = [_line(*owner, y, steps=True) for owner, y in zip(owners, shares, strict=True)]
    return Chart("generation", "coverage", tuple(lines), low=0.0, number=".1%")


def allocation(groups: Sequence[Group]) -> Chart | None:
    """The share of updates that went to members past the trap; None if there is no trap."""
    lines = []
    for group, color in _painted(groups):
        trap_end = trap_end_of(group.stories[0].run) if group.stories else None
        if trap_end is None:
            continue
        shares = allocation_of(group.stories, trap_end)
        x, several = shares.generation, group.stories[0].run.config.members > 1
        lines.append(Line(group.label, color, x, shares.updates, MEDIAN_WIDTH))
        if several:
            name = f"{group.label}, members"
            lines.append(Line(name, color, x, shares.members, THIN, aside=True))
    if not lines:
        return None
    y = "updates past the trap"
    return Chart("generation", y, tuple(lines), low=-0.03, high=1.03, number=".0%")


def _painted(groups: Sequence[Group]) -> list[tuple[Group, Color]]:
    return list(zip(groups, colors_of([group.algorithm for group in groups]), strict=True))


def _line(
    group: Group,
    color: Color,
    story: Story,
    y: Floats,
    *,
    steps: bool = False,
    at: slice | NDArray[np.int64] = slice(None),
) -> Line:
    x = story.column("generation")[at]
    return Line(group.label, color, x, y, steps=steps, seed=story.run.config.seed)
