"""Comparing runs: groups of runs, their scores, and tests of their differences."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from nses.core.algorithms import ALGORITHMS
from nses.core.weight import keep
from nses.experiment.analysis import paper
from nses.experiment.analysis.power import out_of_reach
from nses.experiment.analysis.statistics import (
    holm,
    interquartile_mean,
    mann_whitney,
    median,
    median_interval,
)
from nses.experiment.analysis.stories import Curve, Story, curve_of, story_of
from nses.experiment.runs.log import METRICS
from nses.experiment.runs.run import Run
from nses.experiment.settings.config import CHANGEABLE, Config
from nses.rollouts.tasks.catalog import SHIPPED, make_task

MOST_NAMED_SETTINGS = 3


@dataclass(frozen=True, eq=False)
class Group:
    """Runs that differ only in their seeds, in the order of the seeds."""

    label: str  # the algorithm, and the settings in which it differs from another group
    algorithm: str
    stories: tuple[Story, ...]

    def curve(self, axis: str) -> Curve | None:
        """The learning curve along an axis; None before the first generation."""
        if axis not in self._curves:
            self._curves[axis] = curve_of(self.stories, axis)
        return self._curves[axis]

    @cached_property
    def _curves(self) -> dict[str, Curve | None]:
        """The curves computed so far."""
        return {}

    @property
    def adapts(self) -> bool:
        """Whether its weight changes during a run; otherwise the algorithm fixes it."""
        return ALGORITHMS[self.algorithm].adapt is not keep

    @property
    def best(self) -> list[float]:
        return [s.best for s in self.stories if np.isfinite(s.best)]

    @property
    def tested(self) -> list[float]:
        return [s.tested for s in self.stories if s.done]


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


@dataclass(frozen=True)
class Pair:
    """Two groups against each other, by best scores and by re-tests."""

    task: str
    a: str
    b: str
    u: float  # Mann-Whitney's U of a
    p: float
    p_holm: float  # corrected for all pairs of the task
    effect: float  # how often a run of a beats one of b; 1/2 favours neither
    retest_u: float
    retest_p: float
    retest_p_holm: float
    retest_effect: float


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
        kept, twice = _once_per_seed(members)
        groups.append(Group(label, kept[0].run.config.algorithm, tuple(kept)))
        notes += [f"{label}: {line}" for line in (*twice, *_state_of(kept))]
    goals = {goal_of(group.stories[0].run) for group in groups}
    goal = goals.pop() if len(goals) == 1 else None  # groups may have different traps
    lone = [group.label for group in groups if len(group.stories) == 1]
    if lone:
        count = "one run each" if len(lone) > 1 else "one run"
        notes.append(f"{', '.join(lone)}: only {count}, so no interval and no meaningful test")
    notes += _unequal(groups)
    if _differ([_numerics(story.run) for story in stories]):
        notes.append("the runs were started with different versions or CPUs: see their reports")
    notes += out_of_reach([(len(a.best), len(b.best)) for a, b in _couples(groups)])
    rows = tuple(_row(task, group, goal) for group in groups)
    return Contest(task, tuple(groups), rows, _pairs(task, groups), goal, tuple(notes))


def grouped(stories: Sequence[Story]) -> dict[str, list[Story]]:
    """By algorithm, in the order of ALGORITHMS, and by any other setting except the seed."""
    algorithms = [a for a in ALGORITHMS if any(a == s.run.config.algorithm for s in stories)]
    groups: dict[str, list[Story]] = {}
    for algorithm in algorithms:
        same = [s for s in stories if s.run.config.algorithm == algorithm]
        differing = _differing([s.run.config for s in same])
        values = {(s.run.config.recipe, _values(s.run.config, differing)) for s in same}
        recipes, kinds = ({pair[i] for pair in values} for i in (0, 1))
        told_apart = len(recipes) == len(kinds) == len(values)
        by_recipe = len(differing) > MOST_NAMED_SETTINGS and told_apart
        for story in same:
            c = story.run.config
            said = [f"{name}={getattr(c, name)}" for name in differing]
            label = " ".join([algorithm, *([c.recipe] if by_recipe else said)])
            groups.setdefault(label, []).append(story)
    return groups


def _differing(configs: Sequence[Config]) -> list[str]:
    """Settings other than the seed that make these different runs."""
    return [
        field.name
        for field in fields(Config)
        if field.name not in CHANGEABLE | {"seed", "task", "algorithm"}
        and len({getattr(c, field.name) for c in configs}) > 1
    ]


def _values(config: Config, names: Sequence[str]) -> tuple[Any, ...]:
    return tuple(getattr(config, name) for name in names)


def _once_per_seed(stories: Sequence[Story]) -> tuple[list[Story], list[str]]:
    """One run per seed, the longest: the same seed again is not new evidence."""
    kept: dict[int, Story] = {}
    notes = []
    for story in sorted(stories, key=lambda s: (s.run.config.seed, -s.generation, not s.done)):
        seed = story.run.config.seed
        if seed in kept:
            notes.append(f"seed {seed} appears twice; {story.run.path} is left out")
        kept.setdefault(seed, story)
    return list(kept.values()), notes


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


def _unequal(groups: Sequence[Group]) -> list[str]:
    """Settings in which the groups differ, other than those that define the algorithms."""
    first = [group.stories[0].run.config for group in groups]
    own = {"members", *(f.name for f in fields(Config) if f.name.startswith("weight"))}
    names = [name for name in _differing(first) if name not in own]
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


def _couples(groups: Sequence[Group]) -> list[tuple[Group, Group]]:
    """Every two groups that have a score, against each other."""
    return [(a, b) for a, b in combinations(groups, 2) if a.best and b.best]


def _pairs(task: str, groups: Sequence[Group]) -> tuple[Pair, ...]:
    couples = _couples(groups)
    best = _tests([(a.best, b.best) for a, b in couples])
    tested = _tests([(a.tested, b.tested) for a, b in couples])
    return tuple(
        Pair(task, a.label, b.label, *won, *fresh)
        for (a, b), won, fresh in zip(couples, best, tested, strict=True)
    )


def _tests(samples: Sequence[tuple[list[float], list[float]]]) -> list[tuple[float, ...]]:
    """U, p, corrected p and effect size of each couple; NaN if a group has no score."""
    results = {i: mann_whitney(x, y) for i, (x, y) in enumerate(samples) if x and y}
    corrected = dict(zip(results, holm([r.p for r in results.values()]), strict=True))
    nothing = (np.nan,) * 4
    return [
        (results[i].U, results[i].p, corrected[i], results[i].effect) if i in results else nothing
        for i in range(len(samples))
    ]
