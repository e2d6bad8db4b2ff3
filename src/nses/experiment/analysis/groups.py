"""Which runs belong together: those of one algorithm that differ only in their seeds."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from nses.core.algorithms import ALGORITHMS
from nses.core.weight import keep
from nses.experiment.analysis.stories import Curve, Story, curve_of
from nses.experiment.settings.config import CHANGEABLE, Config

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
        return list(self.best_by_seed.values())

    @property
    def tested(self) -> list[float]:
        return list(self.tested_by_seed.values())

    @property
    def best_by_seed(self) -> dict[int, float]:
        return {s.run.config.seed: s.best for s in self.stories if np.isfinite(s.best)}

    @property
    def tested_by_seed(self) -> dict[int, float]:
        return {s.run.config.seed: s.tested for s in self.stories if s.done}


def grouped(stories: Sequence[Story]) -> dict[str, list[Story]]:
    """By algorithm, in the order of ALGORITHMS, and by any other setting except the seed."""
    algorithms = [a for a in ALGORITHMS if any(a == s.run.config.algorithm for s in stories)]
    groups: dict[str, list[Story]] = {}
    for algorithm in algorithms:
        same = [s for s in stories if s.run.config.algorithm == algorithm]
        names = differing([s.run.config for s in same])
        values = {(s.run.config.recipe, _values(s.run.config, names)) for s in same}
        recipes, kinds = ({pair[i] for pair in values} for i in (0, 1))
        told_apart = len(recipes) == len(kinds) == len(values)
        by_recipe = len(names) > MOST_NAMED_SETTINGS and told_apart
        for story in same:
            c = story.run.config
            said = [f"{name}={_shown(getattr(c, name))}" for name in names]
            label = " ".join([algorithm, *([c.recipe] if by_recipe else said)])
            groups.setdefault(label, []).append(story)
    return groups


def _shown(value: Any) -> str:
    return "default" if value is None else str(value)


def differing(configs: Sequence[Config]) -> list[str]:
    """Settings other than the seed that make these different runs."""
    return [
        field.name
        for field in fields(Config)
        if field.name not in CHANGEABLE | {"seed", "task", "algorithm"}
        and len({getattr(c, field.name) for c in configs}) > 1
    ]


def _values(config: Config, names: Sequence[str]) -> tuple[Any, ...]:
    return tuple(getattr(config, name) for name in names)


def once_per_seed(stories: Sequence[Story]) -> tuple[list[Story], list[str]]:
    """One run per seed, the longest: the same seed again is not new evidence."""
    kept: dict[int, Story] = {}
    notes = []
    for story in sorted(stories, key=lambda s: (s.run.config.seed, -s.generation, not s.done)):
        seed = story.run.config.seed
        if seed in kept:
            notes.append(f"seed {seed} appears twice; {story.run.path} is left out")
        kept.setdefault(seed, story)
    return list(kept.values()), notes
