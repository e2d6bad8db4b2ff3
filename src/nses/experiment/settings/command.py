"""From settings back to the words on the line that give them."""

import shlex
from collections.abc import Mapping
from typing import Any

from nses.experiment.settings.config import PRACTICAL, Config, to_dict
from nses.experiment.settings.recipes import recipe
from nses.rollouts.tasks.catalog import TRACE_DISTANCE, VECTOR_DISTANCE, make_task


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


def practical_flags(config: Config) -> list[str]:
    """What else is not as in the recipe, but for where a run is kept and by whom it is done."""
    base = to_dict(recipe(config.task, config.recipe, config.algorithm))
    names = PRACTICAL - {"run_dir", "workers", "backend", "pictures"}
    values = to_dict(config)
    return flags_of({name: values[name] for name in names if values[name] != base[name]})


def train_words(config: Config) -> list[str]:
    """The arguments of `nses` that train this very run again."""
    changes = changes_of(config)
    if "max_steps" in changes and changes["max_steps"] is None:  # which undoes a recipe's
        changes["max_steps"] = make_task(config.task).step_limit
    return [
        *("train", config.task, "--algorithm", config.algorithm, "--recipe", config.recipe),
        *("--seed", str(config.seed), *flags_of(changes)),
    ]


def train_command(config: Config) -> str:
    return shlex.join(["nses", *train_words(config)])
