"""Adapts an environment: imports modules first, and shows only some entries of its observations."""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from nses.errors import UsageError
from nses.rollouts.attributes import AttributeProbe, Telling
from nses.rollouts.behaviors import imported
from nses.rollouts.numbers import places_of
from nses.rollouts.spaces import Floats, entries, input_of
from nses.rollouts.tasks.task import Task

Observation = tuple[spaces.Space[Any], Callable[[Any], Any]]


@dataclass(frozen=True)
class Adapted:
    """Makes an environment. As a value it is sent to the workers, which import the same modules.

    Modules come first because they may register environments.
    """

    make: Callable[[], gym.Env[Any, Any]]
    modules: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()  # entries of the observation; all of them if none is given

    def __call__(self) -> gym.Env[Any, Any]:
        for module in self.modules:
            imported(module)
        environment = self.make()
        return Chosen(environment, self.keys) if self.keys else environment


def telling(task: Task) -> Task:
    """The task, whose environment tells the attributes that its behavior reads, if it reads any."""
    probe = task.behavior.probe
    if not isinstance(probe, AttributeProbe) or isinstance(task.make, Telling):
        return task
    return replace(task, make=Telling(task.make, probe.names))


class Chosen(gym.ObservationWrapper[Any, Any, Any]):
    """Shows only some entries of the observation to the policy and to the behavior."""

    def __init__(self, environment: gym.Env[Any, Any], keys: tuple[str, ...]):
        super().__init__(environment)
        self.observation_space, self.choose = chosen(environment.observation_space, keys)

    def observation(self, observation: Any) -> Any:
        return self.choose(observation)


def chosen(space: spaces.Space[Any], keys: tuple[str, ...]) -> Observation:
    """The space of these entries, in the space's order, and how to take them from an observation.

    A single entry of a Dict or Tuple is not wrapped, so that an image stays an image.
    """
    if isinstance(space, spaces.Box) and len(space.shape) == 1:
        numbers = places_of(keys, space.shape[0])
        low, high = space.low[numbers], space.high[numbers]
        return spaces.Box(low, high, dtype=space.dtype.type), lambda o: np.asarray(o)[numbers]
    known = entries(space)
    if not known:
        raise UsageError(
            "--observation chooses entries of a Dict or Tuple of observations, or numbers of a "
            f"vector, got {space}; omit it."
        )
    for key in keys:
        if key not in known:
            raise UsageError(
                f"observations have no entry {key!r} to choose with --observation; their entries "
                f"are {', '.join(known)}."
            )
    if len({*keys}) == 1:
        inside: Any = int(keys[0]) if isinstance(space, spaces.Tuple) else _key(space, keys[0])
        return known[keys[0]], lambda observation: observation[inside]
    if isinstance(space, spaces.Tuple):
        places = [int(key) for key in known if key in keys]
        parts = [space.spaces[i] for i in places]
        return spaces.Tuple(parts), lambda observation: tuple(observation[i] for i in places)
    names = [_key(space, key) for key in known if key in keys]
    # Gymnasium would sort a plain dictionary.
    part = spaces.Dict(OrderedDict((name, space[name]) for name in names))  # type: ignore[index]
    return part, lambda observation: {name: observation[name] for name in names}


def flattening(space: spaces.Space[Any], keys: tuple[str, ...]) -> Callable[[Any], Floats]:
    """Flattens what was chosen of an observation, which may be whole or hold nothing else."""
    flatten = input_of(space).flatten
    return lambda observation: flatten(_within(observation, keys, space) if keys else observation)


def _within(observation: Any, keys: tuple[str, ...], space: spaces.Space[Any]) -> Any:
    """What the keys choose of a whole observation; one that holds nothing else as it is."""
    if isinstance(observation, Mapping):
        named = cast("Mapping[Any, Any]", observation)
        single = not isinstance(space, spaces.Dict)
        return next(named[key] for key in named if str(key) == keys[0]) if single else named
    vector = isinstance(space, spaces.Box) and len(space.shape) == 1
    if not vector or np.shape(observation) == space.shape:
        return observation
    whole = np.asarray(observation)
    return whole[places_of(keys, whole.size)]


def _key(space: Any, name: str) -> Any:
    """The key of a Dict that is written like this; it need not be text."""
    return next(key for key in space.spaces if str(key) == name)
