"""Between a Gymnasium space and flat vectors of numbers."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

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
    match space:
        case spaces.Box() | spaces.MultiBinary():
            size = int(np.prod(space.shape))
            return Input(size, lambda o: np.asarray(o, np.float64).reshape(-1))
        case spaces.Discrete():
            start, identity = int(space.start), np.eye(int(space.n))
            return Input(int(space.n), lambda o: identity[int(o) - start])
        case spaces.MultiDiscrete() | spaces.Dict() | spaces.Tuple() if space.is_np_flattenable:
            size = spaces.flatdim(space)
            return Input(size, lambda o: np.asarray(spaces.flatten(space, o), np.float64))
    raise ValueError(
        f"observations must come from a space that flattens to numbers, got {space}; "
        "wrap the environment, for example with gymnasium.wrappers.TransformObservation."
    )


def output_of(space: spaces.Space[Any]) -> Output:
    """How to turn network outputs into actions of a space. Actions never leave the space."""
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
    raise ValueError(
        f"actions must come from a Discrete space or a Box of floats, got {space}; "
        "wrap the environment, for example with gymnasium.wrappers.TransformAction."
    )
