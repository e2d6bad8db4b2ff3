"""Running moments of observations, one set per member."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

VARIANCE_FLOOR = 0.01
CLIP = 5.0
LARGEST = 1e100  # larger observations count as this, so that sums of squares stay finite


@dataclass(frozen=True, eq=False)
class Moments:
    """Count, sum and sum of squares of the observations seen, float64.

    Numbers beyond ±1e100 count as ±1e100 (see `take_in`), so that mean and std stay finite.
    """

    count: float
    sum: NDArray[np.float64]
    square: NDArray[np.float64]

    def __repr__(self) -> str:
        return f"<moments of {self.count:g} observations, {self.sum.size} numbers each>"

    @cached_property
    def mean(self) -> NDArray[np.float64]:
        return self.sum / self.count

    @cached_property
    def std(self) -> NDArray[np.float64]:
        """Standard deviation, at least 0.1, so that constant inputs can be divided by it."""
        return np.sqrt(np.maximum(self.square / self.count - self.mean**2, VARIANCE_FLOOR))

    @property
    def row(self) -> NDArray[np.float64]:
        """Count, sums and sums of squares in one array; `of_row` is the inverse."""
        return np.concatenate([[self.count], self.sum, self.square])

    def merge(self, other: "Moments") -> "Moments":
        return Moments(self.count + other.count, self.sum + other.sum, self.square + other.square)


def initial(size: int) -> Moments:
    """0.01 observations with mean 0 and variance 1, so that the first step is already finite."""
    return Moments(0.01, np.zeros(size), np.full(size, 0.01))


def nothing(size: int) -> Moments:
    """The neutral element of `merge`."""
    return Moments(0.0, np.zeros(size), np.zeros(size))


def row_size(size: int) -> int:
    return 1 + 2 * size


def of_row(row: NDArray[np.float64]) -> Moments:
    """Views of a row."""
    size = row.size // 2
    return Moments(row[0], row[1 : 1 + size], row[1 + size :])
