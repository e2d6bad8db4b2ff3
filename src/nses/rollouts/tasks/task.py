"""What a task is: an environment, what to look at in it, and how to compare what is seen."""

import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from nses.errors import UsageError
from nses.rollouts.attributes import TOLD, places_in
from nses.rollouts.behaviors import Behavior
from nses.rollouts.foreign import errors_only
from nses.rollouts.labels import label_of
from nses.rollouts.sources import sources_of
from nses.rollouts.spaces import input_of, output_of
from nses.rollouts.tasks.scene import NO_SCENE, SCENE, Scene, scene_from


@dataclass(frozen=True)
class Facts:
    """What one look at a task reveals: its spaces, the length of its behavior (0 for a trace), a
    digest of the source of each part that is the user's own, and how to draw its behaviors."""

    observation_space: spaces.Space[Any]
    action_space: spaces.Space[Any]
    behavior_size: int
    sources: dict[str, str] = field(default_factory=dict)
    behavior: str = ""  # its name
    labels: tuple[str, ...] = ()  # of its numbers, if it has its own
    scene: Scene = NO_SCENE
    info: tuple[str, ...] = field(default=(), compare=False)  # its keys that hold numbers
    places: tuple[str, ...] = field(default=(), compare=False)  # attributes that may be behaviors

    def label(self, i: int) -> str:
        """What number i of a behavior is called."""
        own = len(self.labels) == self.behavior_size
        return self.labels[i] if own else label_of(self.behavior, self.behavior_size, i)


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
    # Walls, goals and a start to draw around behaviors: docs/extending.md.
    scene: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        starts = self.starts
        known = isinstance(starts, tuple) and len({*starts}) == len(starts)
        if not known or not all(isinstance(seed, int) and 0 <= seed < 2**31 for seed in starts):
            raise UsageError(
                "starts must be a tuple of different seeds, one for each start of an episode: "
                f"whole numbers from 0 to {2**31 - 1}, got {starts!r}."
            )
        scene_from(self.scene)

    def __repr__(self) -> str:
        return f"<task {self.name}: behavior {self.behavior.name}, {self.step_limit:,} steps>"

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
        before = places_in(environment)
        observation, info = self._first_step(environment)
        after = places_in(environment)
        b = self._first_behavior(observation, info)
        size = 0 if self.behavior.summary == "trace" else b.size
        labels = tuple(self.behavior.labels)
        if labels and len(labels) != size:
            raise UsageError(
                f"behavior {self.behavior.name!r} has {size} numbers but {len(labels)} labels; "
                "give each number one, or none."
            )
        return Facts(
            environment.observation_space,
            environment.action_space,
            size,
            sources_of(environment, self.behavior.probe),
            self.behavior.name,
            labels,
            self._scene_in(environment, size),
            tuple(key for key, value in info.items() if key != TOLD and _is_number(value)),
            tuple(name for name, place in after.items() if place != before.get(name)),
        )

    def _scene_in(self, environment: gym.Env[Any, Any], size: int) -> Scene:
        """The task's own scene, or its environment's; empty if it belongs to another behavior."""
        metadata = getattr(environment, "metadata", None)
        known = metadata if isinstance(metadata, Mapping) else {}
        scene = scene_from(self.scene or known.get(SCENE) or {})
        fits = size > 1 and scene.behavior in ("", self.behavior.name)
        return scene if fits else NO_SCENE

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
        return environment_of(self.name, self.make)

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
        given = {key: value for key, value in changes.items() if value is not None}
        other = given.get("behavior")
        if other and not other.same_as(self.behavior) and not self.scene.get("behavior"):
            given.setdefault("scene", {})  # it shows the places of this task's own behavior
        return replace(self, **given)

    @property
    def behavior_size(self) -> int:
        return self.facts.behavior_size


def environment_of(name: str, make: Callable[[], Any]) -> gym.Env[Any, Any]:
    """A new environment of the task of this name; UsageError if it cannot be made."""
    try:
        with errors_only():
            environment = make()
    except UsageError:
        raise
    except ValueError as error:  # it refuses its arguments, and says why
        raise UsageError(str(error)) from error
    except Exception as error:
        raise UsageError(
            f"the environment of {name!r} cannot be made:\n{traceback.format_exc()}"
        ) from error
    if not isinstance(environment, gym.Env):
        raise UsageError(f"{name!r} must make a gymnasium.Env, got {type(environment).__name__}.")
    return environment


def _is_number(value: Any) -> bool:
    """Whether an entry of info can be a behavior."""
    try:
        numbers = np.asarray(value)
    except ValueError:  # of parts that differ in length
        return False
    return numbers.dtype.kind in "biuf" and numbers.size > 0
