"""Observations that are images, of any size and with their axes in any usual order."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from nses.rollouts.spaces import leaves

SMALLEST = 3  # pixels of a side, for a filter to look at


@dataclass(frozen=True)
class Image:
    """The shape of observations, and which of its axes are rows, columns and channels."""

    shape: tuple[int, ...]
    axes: tuple[int, ...]  # rows, columns, then those whose product are the channels
    white: float = 255.0

    @property
    def size(self) -> tuple[int, int, int]:
        """Rows, columns and channels."""
        height, width, *channels = (self.shape[axis] for axis in self.axes)
        return height, width, int(np.prod(channels))

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """Where the numbers (row, column, channel) stand in a flat observation."""
        numbers = np.arange(int(np.prod(self.shape))).reshape(self.shape)
        return np.ascontiguousarray(numbers.transpose(self.axes)).reshape(-1)


def image_of(space: spaces.Space[Any]) -> Image | None:
    """How to read observations as images: bytes, or floats from 0 to 1 or 255; None if they aren't.

    The axis of channels is the shorter one of the first and the last; in front of four axes are
    stacked images.
    """
    if not isinstance(space, spaces.Box) or not 2 <= len(space.shape) <= 4:
        return None
    white = float(space.high.reshape(-1)[0]) if space.high.size else 0.0
    if (space.low != 0).any() or (space.high != white).any():
        return None
    shape = space.shape
    if len(shape) == 2:
        axes = (0, 1)
    else:
        first = len(shape) - 3
        last = len(shape) - 1
        inside = (
            (first + 1, last, first) if shape[first] < shape[last] else (*range(first, last + 1),)
        )
        axes = (inside[0], inside[1], *range(first), inside[2])
    known = (255.0,) if space.dtype == np.uint8 else (1.0, 255.0)
    plain = space.dtype == np.uint8 or (np.issubdtype(space.dtype, np.floating) and len(shape) > 2)
    large = min(shape[axes[0]], shape[axes[1]]) >= SMALLEST
    return Image(shape, axes, white) if plain and large and white in known else None


def images_in(space: spaces.Space[Any]) -> list[str]:
    """The names of the parts of an observation that are images; "" stands for all of it."""
    found = (leaf for leaf in leaves(space, "") if image_of(leaf.space) is not None)
    return [leaf.name.removeprefix(".") for leaf in found]
