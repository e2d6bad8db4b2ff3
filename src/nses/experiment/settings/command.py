"""From settings back to the words on the line that give them."""

import shlex
from collections.abc import Mapping
from typing import Any

from nses.experiment.settings.config import PRACTICAL, Config, to_dict
from nses.experiment.settings.recipes import recipe
from nses.rollouts.tasks.catalog import TRACE_DISTANCE, VECTOR_DISTANCE


def changes_of(config: Config) -> dict[str, Any]:
    """Settings that are not those of the recipe, but for the seed and what is only practical.

    Nothing that a setting names is looked up: a stored run may name anything.
    """
    base = to_dict(recipe(config.task, config.recipe, config.algorithm))
    changes = {
        name: value
        for name, value in to_dict(config).items()
        if name not in PRACTICAL | {"seed"} and value != base[name]
    }
    if changes.get("distance") in (VECTOR_DISTANCE, TRACE_DISTANCE):
        del changes["distance"]  # what a task has by itself; a stored run always says it
    return changes


def flags_of(settings: Mapping[str, Any]) -> list[str]:
    """Settings as flags."""
    words = []
    for name, value in settings.items():
        flag = name.replace("_", "-")
        if isinstance(value, bool):
            words.append(f"--{flag}" if value else f"--no-{flag}")
        else:
            values = value if isinstance(value, list | tuple) else [value]
            words += [f"--{flag}", *("auto" if v is None else str(v) for v in values)]
    return words


def train_words(config: Config) -> list[str]:
    """The arguments of `nses` that train this very run again."""
    return [
        *("train", config.task, "--algorithm", config.algorithm, "--recipe", config.recipe),
        *("--seed", str(config.seed), *flags_of(changes_of(config))),
    ]


def train_command(config: Config) -> str:
    return shlex.join(["nses", *train_words(config)])
