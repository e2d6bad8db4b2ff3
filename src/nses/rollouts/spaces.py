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

SIMPLE = (spaces.Box, spaces.Discrete, spaces.MultiBinary, spaces.MultiDiscrete)


@dataclass(frozen=True)
class Input:
    """Observations as float64 vectors of a fixed size."""

    size: int
    flatten: Callable[[Any], Floats]


@dataclass(frozen=True, eq=False)
class Output:
    """Actions from the raw output of a network: choices by the largest entry, numbers clipped."""

    size: int
    act: Callable[[NDArray[np.float32]], Any]
    continuous: bool  # whether any part of it is
    # Where the noise on actions goes: 1 for a number, 0 for a choice. None if it is all the same.
    noisy: NDArray[np.float32] | None = None


def input_of(space: spaces.Space[Any]) -> Input:
    """How to flatten observations of a space."""
    _refuse_entries(space)
    found = _input_of(space)
    if found.size < 1:
        raise UsageError(f"observations must have at least one number, got {space}.")
    return found


def _refuse_entries(space: spaces.Space[Any]) -> None:
    """UsageError if a part of a space does not flatten to numbers; names the part."""
    refused = [leaf for leaf in leaves(space, "") if not isinstance(leaf.space, SIMPLE)]
    if not refused:
        return
    bad = refused[0]
    name, kind = bad.name.removeprefix("."), type(bad.space).__name__
    entry = f"the entry {name!r} of observations" if name else "observations"
    others = [key for key, part in entries(space).items() if _is_simple(part)]
    chosen = ",".join(others)
    do = (
        f"choose other entries with --observation {chosen} (observation={chosen!r})"
        if others
        else "wrap the environment, for example with gymnasium.wrappers.TransformObservation"
    )
    raise UsageError(
        f"{entry} must come from a space that flattens to numbers, got {kind} in {space}; {do}."
    )


def _is_simple(space: spaces.Space[Any]) -> bool:
    return all(isinstance(leaf.space, SIMPLE) for leaf in leaves(space, ""))


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
    size = spaces.flatdim(space)
    return Input(size, lambda o: np.asarray(spaces.flatten(space, o), np.float64).reshape(size))


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
        case spaces.MultiBinary():
            return Output(
                int(np.prod(space.shape)),
                lambda y: (y.reshape(space.shape) > 0).astype(space.dtype),
                continuous=False,
            )
        case spaces.MultiDiscrete():
            return _choices(space)
        case spaces.Dict() if space.spaces:
            names = list(space.spaces)
            parts = [_output_of(part) for part in space.spaces.values()]
            return _joined(parts, lambda actions: dict(zip(names, actions, strict=True)))
        case spaces.Tuple() if space.spaces:
            return _joined([_output_of(part) for part in space.spaces], tuple)
    raise UsageError(
        "actions must come from a Discrete, MultiDiscrete or MultiBinary space, a Box of floats, "
        f"or a Tuple or Dict of these, got {space}; wrap the environment, for example with "
        "gymnasium.wrappers.TransformAction."
    )


def _choices(space: spaces.MultiDiscrete) -> Output:
    """The largest entry of each group of outputs."""
    n, start = space.nvec.reshape(-1), space.start.reshape(-1)
    cuts = np.cumsum(n)[:-1]

    def choose(y: NDArray[np.float32]) -> Any:
        chosen = [group.argmax() for group in np.split(y, cuts)]
        return (start + chosen).astype(space.dtype).reshape(space.shape)

    return Output(int(n.sum()), choose, continuous=False)


def _joined(parts: list[Output], together: Callable[[list[Any]], Any]) -> Output:
    """The actions of several spaces, from one row of outputs."""
    cuts = np.cumsum([part.size for part in parts])[:-1]

    def act(y: NDArray[np.float32]) -> Any:
        groups = np.split(y, cuts)
        return together([part.act(group) for part, group in zip(parts, groups, strict=True)])

    noisy = [
        np.full(part.size, part.continuous, np.float32) if part.noisy is None else part.noisy
        for part in parts
    ]
    return Output(
        sum(part.size for part in parts),
        act,
        any(part.continuous for part in parts),
        np.concatenate(noisy),
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


def entries(space: spaces.Space[Any]) -> dict[str, spaces.Space[Any]]:
    """The parts of a Dict or Tuple by the names that choose them; of any other space, none."""
    match space:
        case spaces.Dict():
            return {str(key): part for key, part in space.spaces.items()}
        case spaces.Tuple():
            return {str(i): part for i, part in enumerate(space.spaces)}
    return {}


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
