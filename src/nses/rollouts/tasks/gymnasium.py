"""Any Gymnasium environment as a task, by id or by `module:attribute`."""

import difflib
import importlib
from collections.abc import Iterable
from typing import Any

import gymnasium as gym
from gymnasium.envs.registration import EnvSpec

from nses.rollouts.behaviors import load_attribute

# Namespaces that an extra of this package brings, with the module that registers them.
EXTRAS = {"ALE/": ("atari", "ale_py")}


def spec_of(identifier: str, others: Iterable[str] = ()) -> EnvSpec:
    """The registered specification of an id; else ValueError with the closest ids and `others`."""
    for namespace, (extra, module) in EXTRAS.items():
        if identifier.startswith(namespace):
            try:
                importlib.import_module(module)
            except ImportError:
                raise ValueError(
                    f"{identifier!r} needs the extra {extra!r}: pip install 'nses[{extra}]'."
                ) from None
    try:
        return gym.spec(identifier)
    except gym.error.Error:
        pass
    known = [*others, *gym.registry]
    close = difflib.get_close_matches(identifier, known, n=3, cutoff=0.5)
    hint = f" Did you mean {' or '.join(close)}?" if close else ""
    raise ValueError(
        f"no task or Gymnasium environment is called {identifier!r}.{hint} "
        "'nses tasks' lists what there is; your own environment can be named 'module:attribute'."
    )


def make_environment(spec: EnvSpec, arguments: dict[str, Any]) -> gym.Env[Any, Any]:
    """gymnasium.make, without the checks that only a first run needs.

    The specification travels to the workers, who may not know the id: anybody can register one.
    """
    try:
        return _guarded(gym.make(spec, disable_env_checker=True, **arguments))
    except (gym.error.Error, ImportError, TypeError) as error:
        raise ValueError(f"{spec.id!r} cannot be made: {error}") from error


def make_own(name: str, arguments: dict[str, Any]) -> gym.Env[Any, Any]:
    return _guarded(load_attribute(name, "task")(**arguments))


def _guarded(environment: Any) -> Any:
    """With a look at the warnings of MuJoCo, where there is one and nobody looks at them."""
    simulation = getattr(getattr(environment, "unwrapped", None), "data", None)
    if not type(simulation).__module__.startswith("mujoco"):
        return environment
    from nses.rollouts.tasks.mujoco import BodyEnv, Guarded

    return environment if isinstance(environment.unwrapped, BodyEnv) else Guarded(environment)


def step_limit_of(name: str, limit: int | None, max_steps: int | None) -> int:
    """The step limit of an episode: the environment's own, or a lower one of the user's."""
    if max_steps is not None and max_steps < 1:
        raise ValueError(f"max_steps must be at least 1, got {max_steps}.")
    if limit is None and max_steps is None:
        raise ValueError(
            f"{name!r} has no step limit of its own, so an episode might never end; "
            "give one with --max-steps (max_steps=...)."
        )
    return min(x for x in (limit, max_steps) if x is not None)
