"""Comparing runs: groups of runs, their scores, and tests of their differences."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields

import numpy as np

from nses.experiment.analysis import paper
from nses.experiment.analysis.groups import Group, differing, grouped, once_per_seed
from nses.experiment.analysis.pairs import Pair, couples_of, pairs_of
from nses.experiment.analysis.power import out_of_reach
from nses.experiment.analysis.statistics import interquartile_mean, median, median_interval
from nses.experiment.analysis.stories import Story, story_of
from nses.experiment.runs.log import METRICS
from nses.experiment.runs.run import Run
from nses.experiment.settings.config import Config
from nses.rollouts.tasks.catalog import SHIPPED, make_task


@dataclass(frozen=True)
class Row:
    """A group in numbers: `best` is the runs' best score, `retest` the mean of fresh episodes."""

    task: str
    label: str
    runs: int
    done: int
    best_median: float
    best_low: float  # 95 % bootstrapped interval of the median
    best_high: float
    best_iqm: float
    best_min: float
    best_max: float
    retest_median: float
    retest_low: float
    retest_high: float
    retest_iqm: float
    reached: int | None  # runs with a best score above the task's goal; None without a goal
    paper: float | None  # the paper's median, quoted; None if it does not apply to these runs
    not_quoted: str  # how these runs differ from the paper's; empty if it is quoted


@dataclass(frozen=True, eq=False)
class Contest:
    """One task: its groups, their results, and notes for the reader."""

    task: str
    groups: tuple[Group, ...]
    rows: tuple[Row, ...]
    pairs: tuple[Pair, ...]
    goal: float | None
    notes: tuple[str, ...]

    @property
    def stories(self) -> list[Story]:
        return [story for group in self.groups for story in group.stories]


def compare(runs: Iterable[Run]) -> list[Contest]:
    """One contest per task, in the order in which the tasks first appear."""
    return contests_of([story_of(run) for run in runs])


def contests_of(stories: Sequence[Story]) -> list[Contest]:
    """`compare`, for runs that have already been read."""
    tasks = dict.fromkeys(story.run.config.task for story in stories)
    return [_contest(task, [s for s in stories if s.run.config.task == task]) for task in tasks]


def _contest(task: str, stories: Sequence[Story]) -> Contest:
    groups, notes = [], []
    for label, members in grouped(stories).items():
        kept, twice = once_per_seed(members)
        groups.append(Group(label, kept[0].run.config.algorithm, tuple(kept)))
        notes += [f"{label}: {line}" for line in (*twice, *_state_of(kept))]
    goals = {goal_of(group.stories[0].run) for group in groups}
    goal = goals.pop() if len(goals) == 1 else None  # groups may have different traps
    lone = [group.label for group in groups if len(group.stories) == 1]
    if lone:
        count = "one run each" if len(lone) > 1 else "one run"
        notes.append(f"{', '.join(lone)}: only {count}, so no interval and no test")
    notes += [*_trained_otherwise(stories), *_unequal(groups)]
    if _differ([_numerics(story.run) for story in stories]):
        notes.append("the runs were started with different versions or CPUs: see their reports")
    notes += out_of_reach([(len(a.best), len(b.best)) for a, b in couples_of(groups)])
    rows = tuple(_row(task, group, goal) for group in groups)
    return Contest(task, tuple(groups), rows, pairs_of(task, groups), goal, tuple(notes))


def _state_of(stories: Sequence[Story]) -> list[str]:
    """Notes about unfinished runs, unreadable lines and uneven lengths in a group."""
    notes = []
    going = [s for s in stories if not s.done]
    if going:
        spans = ", ".join(
            f"seed {s.run.config.seed} at {s.generation} of {s.run.config.generations}"
            for s in going
        )
        notes.append(f"{len(going)} of {len(stories)} runs have not finished ({spans})")
    notes += [
        f"seed {s.run.config.seed} has {s.unreadable:,} line{'s' * (s.unreadable > 1)} in "
        f"{METRICS} that cannot be read"
        for s in stories
        if s.unreadable
    ]
    lengths = sorted({s.run.config.generations for s in stories})
    if len(lengths) > 1:
        notes.append(f"runs have different lengths: {', '.join(map(str, lengths))} generations")
    return notes


def _trained_otherwise(stories: Sequence[Story]) -> list[str]:
    """How candidates were not played or ranked as the task says, in all runs; scores are."""
    first = stories[0].run.config
    shared = [
        f"{name}={_shown(getattr(first, name))}"
        for name in ("training_environment", "training_reward")
        if getattr(first, name)
        and all(getattr(s.run.config, name) == getattr(first, name) for s in stories)
    ]
    return [f"candidates of all runs were trained with {', '.join(shared)}"] if shared else []


def _shown(value: float | tuple[str, ...]) -> str:
    return " ".join(value) if isinstance(value, tuple) else f"{value:g}"


def _unequal(groups: Sequence[Group]) -> list[str]:
    """Settings in which the groups differ, other than those that define the algorithms."""
    first = [group.stories[0].run.config for group in groups]
    own = {"members", *(f.name for f in fields(Config) if f.name.startswith("weight"))}
    names = [name for name in differing(first) if name not in own]
    lengths = {max(s.run.config.generations for s in group.stories) for group in groups}
    names += ["generations"] if len(lengths) > 1 else []
    return [f"the groups differ in more than their algorithm: {', '.join(names)}"] if names else []


def _numerics(run: Run) -> dict[str, str]:
    """The versions that the bits of a run depend on."""
    return {name: version for name, version in run.versions.items() if name != "nses"}


def _differ(versions: Sequence[dict[str, str]]) -> bool:
    """Whether a version that several runs record differs; older runs record fewer."""
    names = {name for those in versions for name in those}
    return any(len({those[name] for those in versions if name in those}) > 1 for name in names)


def goal_of(run: Run) -> float | None:
    """The return above which a built-in task is solved.

    None for other tasks: asking them, or importing a stored behavior, would run foreign code.
    """
    config = run.config
    if run.own_task or config.task not in SHIPPED:
        return None
    return make_task(config.task, **config.environment_arguments).goal


def _row(task: str, group: Group, goal: float | None) -> Row:
    best, tested = group.best, group.tested
    departures = max(paper.departures(s.run) for s in group.stories)  # any non-empty one
    low, high = map(float, median_interval(best))
    retest_low, retest_high = map(float, median_interval(tested))
    return Row(
        task=task,
        label=group.label,
        runs=len(group.stories),
        done=sum(s.done for s in group.stories),
        best_median=median(best),
        best_low=low,
        best_high=high,
        best_iqm=interquartile_mean(best),
        best_min=min(best, default=np.nan),
        best_max=max(best, default=np.nan),
        retest_median=median(tested),
        retest_low=retest_low,
        retest_high=retest_high,
        retest_iqm=interquartile_mean(tested),
        reached=None if goal is None else sum(score > goal for score in best),
        paper=None if departures else paper.quoted(task)[group.algorithm],
        not_quoted=departures,
    )
