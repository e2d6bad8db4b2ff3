"""The arms of an experiment: algorithms on tasks, some of them with their own settings."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from nses.core.algorithms import ALGORITHMS
from nses.experiment.runs.storage import slug
from nses.experiment.settings import recipes
from nses.rollouts.tasks.catalog import ATARI, PAPER_GAMES


@dataclass(frozen=True)
class Arm:
    """One arm of an experiment: an algorithm on a task, over all seeds."""

    task: str
    algorithm: str
    settings: Mapping[str, Any] = field(default_factory=dict)  # that distinguish it from others
    home: str | None = None  # the experiment's own directory, if it shares no runs with others

    @property
    def directory(self) -> str:
        if self.home is not None:
            return f"{slug(self.home)}/{slug(self.algorithm)}"
        words = [self.algorithm, *(f"{k}-{v}" for k, v in self.settings.items())]
        return f"{slug(self.task)}/{slug('-'.join(words))}"


# Experiments on a task with other settings than its own, by name.
VARIANTS: dict[str, tuple[str, Mapping[str, Any]]] = {
    "point-trap-1.5": ("point-trap", {"environment": {"half_width": 1.5}}),  # the paper's width
}


def arms_of(experiment: str) -> list[Arm]:
    """All algorithms on a task or a variant of it, on the paper's games, or its weight study."""
    if experiment in VARIANTS:
        task, settings = VARIANTS[experiment]
        return [Arm(task, algorithm, settings, experiment) for algorithm in ALGORITHMS]
    if experiment == "seaquest-weight":
        others = [arm for arm in arms_of("atari:seaquest") if arm.algorithm != "nsra-es"]
        patience = [{"weight_patience": t_w} for t_w in (50, 10)]
        return [*others, *(Arm("atari:seaquest", "nsra-es", settings) for settings in patience)]
    games = [ATARI + game for game in PAPER_GAMES]
    tasks = games if experiment == "atari" else [experiment]
    return [Arm(task, algorithm) for task in tasks for algorithm in ALGORITHMS]


def runs_of(experiment: str, recipe: str) -> int:
    """The default number of runs of each algorithm."""
    return min(recipes.runs_of(arm.task, recipe) for arm in arms_of(experiment))
