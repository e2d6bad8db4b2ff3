"""From settings back to the words on the line that give them."""

import shlex
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from nses.experiment.build import task_of
from nses.experiment.config import Config, to_dict
from nses.experiment.recipes import recipe
from nses.rollouts.tasks.catalog import ATARI

# Settings that say where and how fast a run happens, not what it is.
PRACTICAL = frozenset(
    [
        *("run_dir", "workers", "backend", "native", "deadline", "checkpoint_seconds"),
        *("keep_every", "tensorboard", "pictures"),
    ]
)


def changes_of(config: Config) -> dict[str, Any]:
    """Settings that are not those of the recipe, but for the seed and what is only practical."""
    base = to_dict(recipe(config.task, config.recipe, config.algorithm))
    changes = {
        name: value
        for name, value in to_dict(config).items()
        if name not in PRACTICAL | {"seed"} and value != base[name]
    }
    if "distance" in changes and _is_the_tasks_own(config):  # a stored one is always said
        del changes["distance"]
    return changes


def _is_the_tasks_own(config: Config) -> bool:
    if ":" in config.task and not config.task.startswith(ATARI):
        return False  # to ask it would be to run what the name says
    try:
        return task_of(replace(config, distance=None)).distance == config.distance
    except ValueError:  # of a task that cannot be made here, who knows
        return False


def flags_of(settings: Mapping[str, Any]) -> list[str]:
    """Settings as flags; None, which no flag can say, is left out."""
    words = []
    for name, value in settings.items():
        flag = name.replace("_", "-")
        if isinstance(value, bool):
            words.append(f"--{flag}" if value else f"--no-{flag}")
        elif value is not None:
            values = value if isinstance(value, list | tuple) else [value]
            words += [f"--{flag}", *map(str, values)]
    return words


def train_words(config: Config) -> list[str]:
    """The arguments of `nses` that train this very run again."""
    changes = changes_of(config)
    if "max_steps" in changes and changes["max_steps"] is None:  # which undoes a recipe's
        changes["max_steps"] = task_of(config).step_limit
    return [
        *("train", config.task, "--algorithm", config.algorithm, "--recipe", config.recipe),
        *("--seed", str(config.seed), *flags_of(changes)),
    ]


def train_command(config: Config) -> str:
    return shlex.join(["nses", *train_words(config)])
