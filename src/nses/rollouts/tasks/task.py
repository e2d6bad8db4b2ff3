"""What a task is: an environment, what to look at in it, and how to compare what is seen."""

import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import gymnasium as gym
from gymnasium import spaces
from numpy.typing import NDArray

from nses.errors import UsageError
from nses.rollouts.behaviors import Behavior
from nses.rollouts.foreign import errors_only
from nses.rollouts.sources import sources_of
from nses.rollouts.spaces import input_of, output_of


@dataclass(frozen=True)
class Facts:
    """What one look at a task reveals: its spaces, the length of its behavior (0 for a trace) and
    a digest of the source of each part that is the user's own."""

    observation_space: spaces.Space[Any]
    action_space: spaces.Space[Any]
    behavior_size: int
    sources: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Task:
    """A plug-in; `nses.check_task` tests one."""

    name: str
    make: Callable[[], gym.Env[Any, Any]]
    behavior: Behavior
    step_limit: int
    distance: str = "squared-euclidean"
    goal: float | None = None  # the return above which the task counts as solved
    native: Callable[..., Any] | None = None  # (task, policy) → a compiled Player, or None
    # A seed for each start, if there are finitely many and an episode depends on nothing else.
    starts: tuple[int, ...] = ()
    # Variants in which the best policy is tested at the end of a run, by name.
    variations: Mapping[str, "Task"] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        starts = self.starts
        known = isinstance(starts, tuple) and len({*starts}) == len(starts)
        if not known or not all(isinstance(seed, int) and 0 <= seed < 2**31 for seed in starts):
            raise UsageError(
                "starts must be a tuple of different seeds, one for each start of an episode: "
                f"whole numbers from 0 to {2**31 - 1}, got {starts!r}."
            )

    @cached_property
    def facts(self) -> Facts:
        """From a reset and one step of a new environment; UsageError if its spaces are no use."""
        environment = self.made()
        try:
            return self.facts_in(environment)
        finally:
            with suppress(Exception), errors_only():  # it has shown what it can do
                environment.close()

    def knowing(self, facts: Facts) -> "Task":
        """This task with facts from an earlier look, which need not be repeated."""
        task = replace(self)
        task.__dict__["facts"] = facts
        return task

    def facts_in(self, environment: gym.Env[Any, Any]) -> Facts:
        for name in ("observation_space", "action_space"):
            if getattr(environment, name, None) is None:
                raise UsageError(
                    f"the environment of {self.name!r} has no {name}; set it in __init__, as "
                    "Gymnasium requires."
                )
        input_of(environment.observation_space)
        output_of(environment.action_space)
        observation, info = self._first_step(environment)
        b = self._first_behavior(observation, info)
        size = 0 if self.behavior.summary == "trace" else b.size
        sources = sources_of(environment, self.behavior.probe)
        return Facts(environment.observation_space, environment.action_space, size, sources)

    def _first_behavior(self, observation: Any, info: dict[str, Any]) -> NDArray[Any]:
        try:
            with errors_only():
                record = self.behavior.record(self.step_limit)
                if record.every_step:
                    record.see(observation, info)
                return record.result(observation, info)
        except UsageError:
            raise
        except Exception as error:
            raise UsageError(
                f"behavior {self.behavior.name!r} failed: {type(error).__name__}: {error}. "
                "It must be a function of (observation, info) that returns numbers."
            ) from error

    def made(self) -> gym.Env[Any, Any]:
        """A new environment; UsageError if it cannot be made."""
        try:
            with errors_only():
                environment = self.make()
        except UsageError:
            raise
        except ValueError as error:  # it refuses its arguments, and says why
            raise UsageError(str(error)) from error
        except Exception as error:
            raise UsageError(
                f"the environment of {self.name!r} cannot be made:\n{traceback.format_exc()}"
            ) from error
        if not isinstance(environment, gym.Env):
            raise UsageError(
                f"{self.name!r} must make a gymnasium.Env, got {type(environment).__name__}."
            )
        return environment

    def _first_step(self, environment: gym.Env[Any, Any]) -> tuple[Any, dict[str, Any]]:
        try:
            with errors_only():
                environment.reset(seed=0)
                environment.action_space.seed(0)
                observation, _, _, _, info = environment.step(environment.action_space.sample())
        except Exception as error:
            raise UsageError(
                f"the environment of {self.name!r} failed in its first step:\n"
                f"{traceback.format_exc()}"
            ) from error
        return observation, info

    def revised(self, **changes: Any) -> "Task":
        """This task with the changes that are not None."""
        return replace(self, **{key: value for key, value in changes.items() if value is not None})

    @property
    def behavior_size(self) -> int:
        return self.facts.behavior_size
