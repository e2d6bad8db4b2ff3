"""nses: fast, faithful, unbreakable novelty-seeking evolution strategies.

    run = nses.train("point-trap", algorithm="nsra-es", seed=1)
    action = run.policy("best")(observation)

Names are imported when they are first used. Importing the package registers its environments with
Gymnasium: `gymnasium.make("NSES/PointTrap-v0")`.
"""

import importlib
import os
import sys


def _module_run() -> str:
    """The module that `python -m` runs, or "". Until Python has found it, sys.argv[0] is "-m"."""
    if sys.argv[:1] != ["-m"]:
        return ""
    word = sys.orig_argv[-len(sys.argv)]  # nses or -mnses
    return word.partition("m")[2] if word.startswith("-") else word


_IS_OUR_MODULE = _module_run() == "nses"
if _IS_OUR_MODULE and not sys.flags.safe_path:
    # Runs before any import that Python has not already done: a stranger may own the working
    # directory. It stays on the path, in last place, only if this package is in it.
    _HERE = sys.path.pop(0)
    if __file__.startswith(f"{_HERE}/nses/"):
        sys.path.append(_HERE)

from typing import TYPE_CHECKING, Any  # noqa: E402

__version__ = "0.1.0"

if TYPE_CHECKING:
    from nses import errors
    from nses.core.algorithms import ALGORITHMS, Algorithm, Search
    from nses.core.hyperparameters import Hyperparameters
    from nses.core.moments import Moments
    from nses.core.novelty import novelty
    from nses.core.ranks import centered_ranks
    from nses.core.values import Start, State
    from nses.errors import StopTraining
    from nses.experiment.compare import Comparison, compare
    from nses.experiment.evaluate import evaluate
    from nses.experiment.settings.build import search_of
    from nses.experiment.settings.config import Config
    from nses.experiment.settings.recipes import recipe
    from nses.experiment.strategy import Strategy
    from nses.experiment.train import resume, train
    from nses.experiment.verbs import Run, load
    from nses.rollouts.behaviors import Behavior
    from nses.rollouts.conformance import check_task
    from nses.rollouts.policies import Policy
    from nses.rollouts.policies.pytorch import TorchPolicy
    from nses.rollouts.policy_conformance import check_policy
    from nses.rollouts.tasks.catalog import make_task
    from nses.rollouts.tasks.task import Task

_HOMES = {
    "ALGORITHMS": "nses.core.algorithms",
    "Algorithm": "nses.core.algorithms",
    "Behavior": "nses.rollouts.behaviors",
    "Comparison": "nses.experiment.compare",
    "Config": "nses.experiment.settings.config",
    "Hyperparameters": "nses.core.hyperparameters",
    "Moments": "nses.core.moments",
    "Policy": "nses.rollouts.policies",
    "Run": "nses.experiment.verbs",
    "Search": "nses.core.algorithms",
    "Start": "nses.core.values",
    "State": "nses.core.values",
    "StopTraining": "nses.errors",
    "Strategy": "nses.experiment.strategy",
    "Task": "nses.rollouts.tasks.task",
    "TorchPolicy": "nses.rollouts.policies.pytorch",
    "centered_ranks": "nses.core.ranks",
    "compare": "nses.experiment.compare",
    "check_policy": "nses.rollouts.policy_conformance",
    "check_task": "nses.rollouts.conformance",
    "evaluate": "nses.experiment.evaluate",
    "load": "nses.experiment.verbs",
    "make_task": "nses.rollouts.tasks.catalog",
    "novelty": "nses.core.novelty",
    "recipe": "nses.experiment.settings.recipes",
    "resume": "nses.experiment.train",
    "search_of": "nses.experiment.settings.build",
    "train": "nses.experiment.train",
}

__all__ = [  # noqa: RUF022  (grouped by use)
    "train", "load", "resume", "evaluate", "compare", "Run", "Comparison", "StopTraining",
    "Strategy", "Search", "Start", "State", "search_of", "recipe", "Config",
    "make_task", "Task", "Behavior", "Moments", "check_task",
    "Policy", "TorchPolicy", "check_policy",
    "ALGORITHMS", "Algorithm", "Hyperparameters", "centered_ranks", "novelty",
    "errors",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name == "errors":
        return importlib.import_module("nses.errors")
    if name not in _HOMES:
        raise AttributeError(f"module 'nses' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})


def _is_our_command() -> bool:
    program = os.path.basename(sys.argv[0]) if sys.argv else ""
    return program == "nses" or _IS_OUR_MODULE


if not _is_our_command():  # the command looks tasks up itself, and has to start fast
    from nses.rollouts.tasks.register import register_environments

    register_environments()
