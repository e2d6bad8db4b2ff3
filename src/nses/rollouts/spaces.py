"""Conversion between Gymnasium spaces and flat vectors of numbers."""

import math
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from nses.errors import UsageError

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Input:
    """Observations as float64 vectors of a fixed size."""

    size: int
    flatten: Callable[[Any], Floats]


@dataclass(frozen=True, eq=False)
class Output:
    """Actions from the raw output of a network: the largest entry, or numbers clipped to a Box."""

    size: int
    act: Callable[[NDArray[np.float32]], Any]
    continuous: bool


def input_of(space: spaces.Space[Any]) -> Input:
    """How to flatten observations of a space."""
    found = _input_of(space)
    if found.size < 1:
        raise UsageError(f"observations must have at least one number, got {space}.")
    return found


def _input_of(space: spaces.Space[Any]) -> Input:
    match space:
        case spaces.Box() | spaces.MultiBinary():
            size = int(np.prod(space.shape))
            return Input(size, lambda o: np.asarray(o, np.float64).reshape(size))
        case spaces.Discrete():
            start, n = int(space.start), int(space.n)

            def one_hot(o: Any) -> Floats:
                x = np.zeros(n)
                x[int(o) - start] = 1.0
                return x

            return Input(n, one_hot)
        case spaces.MultiDiscrete() | spaces.Dict() | spaces.Tuple() if space.is_np_flattenable:
            size = spaces.flatdim(space)
            return Input(
                size, lambda o: np.asarray(spaces.flatten(space, o), np.float64).reshape(size)
            )
    raise UsageError(
        f"observations must come from a space that flattens to numbers, got {space}; "
        "wrap the environment, for example with gymnasium.wrappers.TransformObservation."
    )


def output_of(space: spaces.Space[Any]) -> Output:
    """How to turn network outputs into actions of a space. Actions never leave the space."""
    found = _output_of(space)
    if found.size < 1:
        raise UsageError(f"actions must have at least one number, got {space}.")
    return found


def _output_of(space: spaces.Space[Any]) -> Output:
    match space:
        case spaces.Discrete():
            start = int(space.start)
            return Output(int(space.n), lambda y: start + int(y.argmax()), continuous=False)
        case spaces.Box() if np.issubdtype(space.dtype, np.floating):
            low, high, dtype = space.low, space.high, space.dtype
            shape = space.shape

            def clip(y: NDArray[np.float32]) -> Any:
                y = np.minimum(np.maximum(y.reshape(shape), low), high)
                return y if y.dtype == dtype else y.astype(dtype)

            return Output(int(np.prod(shape)), clip, continuous=True)
    raise UsageError(
        f"actions must come from a Discrete space or a Box of floats, got {space}; "
        "wrap the environment, for example with gymnasium.wrappers.TransformAction."
    )


@dataclass(frozen=True, eq=False)
class Leaf:
    """A simple space, possibly inside a Dict or Tuple."""

    name: str
    space: Any  # Box, Discrete, MultiBinary or MultiDiscrete
    keys: tuple[Any, ...] = ()  # the path to it

    def of(self, observation: Any) -> Any:
        for key in self.keys:
            observation = observation[key]
        return observation


def leaves(space: spaces.Space[Any], name: str, keys: tuple[Any, ...] = ()) -> list[Leaf]:
    """The simple spaces, in the order in which Gymnasium flattens them."""
    match space:
        case spaces.Dict():
            parts = list(space.spaces.items())
        case spaces.Tuple():
            parts = list(enumerate(space.spaces))
        case _:
            return [Leaf(name, space, keys)]
    return [x for key, part in parts for x in leaves(part, f"{name}.{key}", (*keys, key))]


def describe(space: spaces.Space[Any]) -> dict[str, Any]:
    """A space as JSON, so that a policy can be loaded without its environment."""
    match space:
        case spaces.Box():
            return {
                "box": list(space.shape),
                "low": _bounds(space.low),
                "high": _bounds(space.high),
                "dtype": str(space.dtype),
            }
        case spaces.Discrete():
            return {"discrete": int(space.n), "start": int(space.start)}
        case spaces.MultiBinary():
            return {"multibinary": list(space.shape)}
        case spaces.MultiDiscrete():
            return {"multidiscrete": space.nvec.tolist(), "start": space.start.tolist()}
        case spaces.Dict():
            return {"dict": {name: describe(part) for name, part in space.items()}}
        case spaces.Tuple():
            return {"tuple": [describe(part) for part in space]}
    raise UsageError(f"a space of this kind cannot be stored: {space}.")


LARGEST = 1 << 24  # numbers in an observation: a damaged file must not make us allocate more


def space_from(description: dict[str, Any]) -> spaces.Space[Any]:
    """The space that `describe` described."""
    match description:
        case {"box": shape} | {"multibinary": shape} if math.prod(shape) > LARGEST:
            raise UsageError(f"a space of shape {shape} is too large to be used.")
        case {"discrete": n} if n > LARGEST:
            raise UsageError(f"a space of {n} choices is too large to be used.")
        case {"box": shape, "low": low, "high": high, "dtype": dtype}:
            if not np.issubdtype(np.dtype(dtype), np.number):
                raise UsageError(f"a Box must hold numbers, got dtype {dtype!r}.")
            low, high = (
                np.array(bound, np.float64).astype(dtype) * np.ones(shape, dtype)
                for bound in (low, high)
            )
            return spaces.Box(low, high, tuple(shape), np.dtype(dtype).type)
        case {"discrete": n, "start": start}:
            return spaces.Discrete(n, start=start)
        case {"multibinary": shape}:
            return spaces.MultiBinary(shape if len(shape) > 1 else shape[0])
        case {"multidiscrete": nvec, "start": start}:
            return spaces.MultiDiscrete(nvec, start=start)
        case {"dict": parts}:
            # Gymnasium would sort a plain dictionary, and the policy's inputs would be reordered.
            return spaces.Dict(OrderedDict((k, space_from(part)) for k, part in parts.items()))
        case {"tuple": parts}:
            return spaces.Tuple([space_from(part) for part in parts])
    raise UsageError(f"this does not describe a space: {description!r}.")


def _bounds(values: NDArray[Any]) -> Any:
    """Bounds as text, which keeps infinities and every digit; a single one if all are equal."""
    first = values.reshape(-1)[0]
    if (values == first).all():
        return str(first)
    return np.vectorize(str, otypes=[object])(values).tolist()
