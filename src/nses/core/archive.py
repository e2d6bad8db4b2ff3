"""The archive A of behaviors: a value that only ever grows, by one entry a generation."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray


class Buffer:
    """Storage shared by the successive values of one archive, so that appending does not copy them.

    `tree` is a search tree over the first `treed` rows (see novelty.py); rows never change once
    written, so it stays right for every archive that holds at least these rows.
    """

    def __init__(self, rows: NDArray[np.float64]):
        self.data = rows
        self.used = len(rows)
        self.tree: object = None
        self.treed = 0


@dataclass(frozen=True, eq=False)
class Archive:
    """The first `size` rows of a buffer, (|A|, dimensions of b), float64."""

    buffer: Buffer
    size: int

    def __len__(self) -> int:
        return self.size

    @property
    def rows(self) -> NDArray[np.float64]:
        """All entries, to be read only: newer and older values share them."""
        rows = self.buffer.data[: self.size]
        rows.flags.writeable = False
        return rows

    def append(self, b: ArrayLike) -> "Archive":
        """A with b, or with each row of b, at its end."""
        added = np.atleast_2d(np.asarray(b, np.float64))
        buffer, size = self.buffer, self.size + len(added)
        if buffer.used != self.size:  # a newer value owns the space behind this one
            buffer = Buffer(self.rows.copy())
        if size > len(buffer.data):
            grown = np.empty((max(64, size, 2 * len(buffer.data)), added.shape[1]))
            if self.size:  # an empty archive need not know the dimensions of b
                grown[: self.size] = self.rows
            buffer.data = grown
        buffer.data[self.size : size] = added
        buffer.used = size
        return Archive(buffer, size)

    def extends(self, other: "Archive") -> bool:
        """Whether `other` is an earlier value of this archive, by construction."""
        return self.buffer is other.buffer and self.size >= other.size


def archive_of(rows: ArrayLike) -> Archive:
    """An archive of these behaviors, (|A|, dimensions)."""
    copied = np.array(rows, np.float64, ndmin=2)
    if copied.shape[1] == 0:  # `[]` is no behavior, not one without numbers
        copied = np.empty((0, 0))
    return Archive(Buffer(copied), len(copied))


def empty(dimensions: int) -> Archive:
    return archive_of(np.empty((0, dimensions)))
