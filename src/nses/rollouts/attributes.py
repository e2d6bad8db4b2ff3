"""Behaviors from attributes of an environment, for one that tells little in its observations."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from nses.errors import UsageError

TOLD = "nses.attributes"  # the key of info under which they reach the behavior
MOST = 8  # numbers of an attribute that may be a place


@dataclass(frozen=True)
class AttributeProbe:
    """Reads these attributes of the innermost environment. A value, so that two can be compared."""

    names: tuple[str, ...]

    def __call__(self, observation: Any, info: dict[str, Any]) -> NDArray[Any]:
        if TOLD not in info:
            raise UsageError(
                f"a behavior of attributes ({', '.join(self.names)}) works in a task that is made "
                "with it: nses.make_task(name, behavior), nses.train(behavior=...) or --behavior."
            )
        return np.concatenate(info[TOLD])


@dataclass(frozen=True)
class Telling:
    """Makes an environment that tells these attributes in info. As a value it goes to workers."""

    make: Callable[[], gym.Env[Any, Any]]
    names: tuple[str, ...]

    def __call__(self) -> gym.Env[Any, Any]:
        environment = self.make()
        return Told(environment, self.names) if isinstance(environment, gym.Env) else environment


class Told(gym.Wrapper[Any, Any, Any, Any]):
    """Adds attributes of the innermost environment to info, as they are after each step."""

    def __init__(self, environment: gym.Env[Any, Any], names: tuple[str, ...]):
        super().__init__(environment)
        self.names = names

    def reset(self, **asked: Any) -> tuple[Any, dict[str, Any]]:
        observation, info = self.env.reset(**asked)
        return observation, {**info, TOLD: self._told()}

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self.env.step(action)
        return observation, reward, terminated, truncated, {**info, TOLD: self._told()}

    def _told(self) -> list[NDArray[np.float64]]:
        """Copies, because the environment goes on to change them."""
        return [self._number(name) for name in self.names]

    def _number(self, name: str) -> NDArray[np.float64]:
        try:
            return np.array(getattr(self.unwrapped, name), np.float64).reshape(-1)
        except (AttributeError, TypeError, ValueError) as error:
            places = ", ".join(places_in(self.unwrapped)) or "none"
            raise UsageError(
                f"the behavior reads the attribute {name!r} of {type(self.unwrapped).__name__}, "
                f"which must hold numbers: {error}. Attributes that might be places: {places}."
            ) from error


def places_in(environment: gym.Env[Any, Any]) -> dict[str, list[float]]:
    """The public attributes of the innermost environment that hold a few numbers."""
    inside = vars(environment.unwrapped)
    return {name: x for name in inside if name[0] != "_" and (x := _place(inside[name]))}


def _place(value: Any) -> list[float]:
    """The numbers of a short vector; none of anything else."""
    if not isinstance(value, tuple | list | np.ndarray):
        return []
    try:
        numbers = np.asarray(value)
    except ValueError:  # of parts that differ in length
        return []
    few = numbers.ndim == 1 and 1 < numbers.size <= MOST
    return numbers.tolist() if few and numbers.dtype.kind in "iuf" else []
