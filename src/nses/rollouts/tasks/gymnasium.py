"""Any Gymnasium environment as a task: by id, `module:Id-v0` or `module:attribute`."""

import difflib
import importlib
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from inspect import getattr_static
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.envs.registration import EnvSpec

from nses.errors import UsageError
from nses.extras import EXTRAS, needing
from nses.rollouts.behaviors import imported, load_attribute
from nses.rollouts.foreign import errors_only, generators_kept
from nses.rollouts.tasks.task import Task

UNKNOWN = 0  # the step limit of a task whose environment has to be asked for it
# The attributes of Gymnasium's TimeLimit, of environments written like it, and of MiniGrid.
LIMITS = ("_max_episode_steps", "max_episode_steps", "max_steps")
LONGEST = 10**9  # what is longer is meant to be no limit
NEED_ATARI = ("ALE/", "NSES/Atari", "atari:")  # names that begin like this need the extra


def check_extra(name: str) -> None:
    """UsageError if a task of this name needs an extra that is not installed."""
    if name.startswith(NEED_ATARI):
        with needing("atari", repr(name)):
            importlib.import_module(EXTRAS["atari"])


def spec_of(identifier: str, others: Iterable[str] = ()) -> EnvSpec:
    """The registered specification of an id; else UsageError with the closest ids and `others`.

    `module:Id-v0` is the id after the import of the module, as in Gymnasium.
    """
    module, _, identifier = identifier.rpartition(":")
    if module:
        imported(module)
    check_extra(identifier)
    try:
        return gym.spec(identifier)
    except gym.error.Error:
        pass
    known = [*others, *gym.registry]
    close = difflib.get_close_matches(identifier, known, n=3, cutoff=0.5)
    hint = f" Did you mean {' or '.join(close)}?" if close else ""
    raise UsageError(
        f"no task or Gymnasium environment is called {identifier!r}.{hint} "
        "'nses tasks' lists what there is; an environment of your own, or of another package, is "
        "'module:attribute', or 'module:Id-v0' if the module registers it."
    )


def make_environment(spec: EnvSpec, arguments: dict[str, Any]) -> gym.Env[Any, Any]:
    """gymnasium.make, without the checks that only a first run needs.

    The specification is sent to the workers, which may not know an id that the user registered.
    """
    if str(spec.entry_point).startswith("gymnasium.envs.mujoco"):
        from nses.rollouts.tasks.guarded import keep_out_of_the_working_directory

        keep_out_of_the_working_directory()  # before the model is read, which may warn
    try:
        environment = gym.make(spec, disable_env_checker=True, **arguments)
    except (gym.error.Error, ImportError, TypeError) as error:
        raise UsageError(f"{spec.id!r} cannot be made: {error}") from error
    return watched(environment)


def is_ours(task: Task) -> bool:
    """Whether all code of a task belongs to this package, so that it needs no special care."""
    make = task.make
    if not (isinstance(make, partial) and make.func is make_environment):
        return False
    codes = (str(make.args[0].entry_point), str(getattr(task.behavior.probe, "__module__", "")))
    return all(code.startswith("nses.") for code in codes)


def make_own(name: str, arguments: dict[str, Any]) -> gym.Env[Any, Any]:
    environment = load_attribute(name, "task")(**arguments)
    return watched(environment) if isinstance(environment, gym.Env) else environment


def watched(environment: gym.Env[Any, Any]) -> gym.Env[Any, Any]:
    """Adds what two simulators know but their environments do not tell.

    For ale-py, the RAM. For MuJoCo, whether it blew up, which other environments do not check.
    """
    inside = environment.unwrapped
    if hasattr(inside, "ale"):
        return _WithRAM(environment, inside.ale)  # type: ignore[attr-defined]
    if type(getattr(inside, "data", None)).__module__.startswith("mujoco"):
        from nses.rollouts.tasks.guarded import Guarded
        from nses.rollouts.tasks.mujoco import BodyEnv

        return environment if isinstance(inside, BodyEnv) else Guarded(environment)
    return environment


class _WithRAM(gym.Wrapper[Any, Any, Any, Any]):
    """Adds the RAM to info, which costs a microsecond."""

    def __init__(self, environment: gym.Env[Any, Any], emulator: Any):
        super().__init__(environment)
        self.emulator = emulator

    def reset(self, **asked: Any) -> tuple[Any, dict[str, Any]]:
        observation, info = self.env.reset(**asked)
        return observation, {**info, "ram": self.emulator.getRAM()}

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self.env.step(action)
        return observation, reward, terminated, truncated, {**info, "ram": self.emulator.getRAM()}


def step_limit_of(limit: int | None, max_steps: int | None) -> int:
    """The step limit of an episode: the environment's own, or a lower one of the user's.

    UNKNOWN if there is neither, so that the environment has to be asked.
    """
    if max_steps is not None and max_steps < 1:
        raise UsageError(f"max_steps must be at least 1, got {max_steps}.")
    return min((x for x in (limit, max_steps) if x is not None), default=UNKNOWN)


def bounded(task: Task, told: Callable[[Task], int | None]) -> Task:
    """The task with the step limit that its environment tells if nothing else does."""
    if task.step_limit != UNKNOWN:
        return task
    limit = told(task)
    if limit is None:
        raise UsageError(
            f"{task.name!r} has no step limit of its own, so an episode might never end; give one, "
            "for example with --max-steps 1000 (max_steps=1000)."
        )
    return task.revised(step_limit=limit)


def told_here(task: Task) -> int | None:
    """The step limit of an environment that is made for this in our own process."""
    with generators_kept():
        environment = task.made()
        try:
            return limit_in(environment)
        finally:
            with suppress(Exception), errors_only():  # it has told what we wanted to know
                environment.close()


def limit_in(environment: gym.Env[Any, Any]) -> int | None:
    """The lowest step limit that an environment or one of its wrappers has as an attribute."""
    layers: list[Any] = [environment]
    while isinstance(layers[-1], gym.Wrapper):
        layers.append(layers[-1].env)
    # Statically, because a property might do anything.
    told = [getattr_static(layer, name, None) for layer in layers for name in LIMITS]
    known = [int(x) for x in told if isinstance(x, int | np.integer) and 0 < x <= LONGEST]
    return min(known, default=None)
