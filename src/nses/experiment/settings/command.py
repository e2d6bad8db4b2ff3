"""From settings back to the command line."""

import shlex
from collections.abc import Mapping
from typing import Any

from nses.experiment.settings.config import PRACTICAL, SETTINGS, Config, to_dict
from nses.experiment.settings.recipes import recipe
from nses.rollouts.tasks.catalog import TRACE_DISTANCE, VECTOR_DISTANCE


def changes_of(config: Config) -> dict[str, Any]:
    """The settings that differ from the recipe, other than the seed and the practical ones.

    Does not look up anything that a setting names: a stored run may name anything.
    """
    base = to_dict(recipe(config.task, config.recipe, config.algorithm))
    changes = {
        name: value
        for name, value in to_dict(config).items()
        if name not in PRACTICAL | {"seed"} and value != base[name]
    }
    if base["distance"] is None and changes.get("distance") in (VECTOR_DISTANCE, TRACE_DISTANCE):
        del changes["distance"]  # a task's default, which a stored run always spells out
    return changes


def flags_of(settings: Mapping[str, Any]) -> list[str]:
    """Settings as flags."""
    words = []
    for name, value in settings.items():
        flag = name.replace("_", "-")
        if name in SETTINGS and (once := SETTINGS[name].flag):
            words += [word for entry in value for word in (f"--{once}", entry)]
        elif isinstance(value, bool):
            words.append(f"--{flag}" if value else f"--no-{flag}")
        else:
            values = value if isinstance(value, list | tuple) else [value]
            words += [f"--{flag}", *("auto" if v is None else str(v) for v in values)]
    return words


def train_words(config: Config) -> list[str]:
    """The arguments of `nses` that train this run again."""
    return [
        *("train", config.task, "--algorithm", config.algorithm, "--recipe", config.recipe),
        *("--seed", str(config.seed), *flags_of(changes_of(config))),
    ]


def train_command(config: Config) -> str:
    return shlex.join(["nses", *train_words(config)])
