"""The archive A of behaviors: a value that only ever grows, by one entry a generation."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nses.core.traces import Trace, as_traces, is_trace
from nses.errors import UsageError

# The paper's b: a vector, (dimensions,), or a trace, (steps, bytes).
Characterization = NDArray[np.float64] | Trace


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

    def extended(self, size: int, b: ArrayLike) -> "tuple[Buffer, int]":
        """Storage of the first `size` rows and those of b, and how many these are together."""
        added = np.atleast_2d(np.asarray(b, np.float64))
        if added.shape[1:] != self.data.shape[1:]:
            raise UsageError(
                f"the behaviors of this archive have {self.data.shape[1]} numbers, got an array "
                f"of shape {np.shape(b)}."
            )
        total = size + len(added)
        # Where there are more rows, a newer value owns the space behind these.
        buffer = self if self.used == size else Buffer(self.data[:size].copy())
        if total > len(buffer.data):
            grown = np.empty((max(64, total, 2 * len(buffer.data)), added.shape[1]))
            grown[:size] = buffer.data[:size]
            buffer.data = grown
        buffer.data[size:total] = added
        buffer.used = total
        return buffer, total


class Traces:
    """The same for traces, which have no common length: a list of them."""

    def __init__(self, traces: list[Trace]):
        self.data = traces

    def extended(self, size: int, b: Trace | Sequence[Trace]) -> "tuple[Traces, int]":
        added = as_traces(map(np.array, [b] if is_trace(b) else b), self.data[0].shape[1])
        traces = self if len(self.data) == size else Traces(self.data[:size])
        traces.data += added
        return traces, len(traces.data)


@dataclass(frozen=True, eq=False)
class Archive:
    """The first `size` entries of a buffer: vectors or traces. An empty one is for either."""

    buffer: Buffer | Traces
    size: int

    def __len__(self) -> int:
        return self.size

    @property
    def rows(self) -> NDArray[np.float64]:
        """All vectors, (|A|, dimensions), to be read only: newer and older values share them."""
        if isinstance(self.buffer, Traces):
            raise UsageError("an archive of traces has no rows, they differ in length: use traces.")
        rows = self.buffer.data[: self.size]
        rows.flags.writeable = False
        return rows

    @property
    def traces(self) -> list[Trace]:
        """All traces, likewise; none in an archive of vectors."""
        return self.buffer.data[: self.size] if isinstance(self.buffer, Traces) else []

    def append(self, b: ArrayLike | Sequence[Trace]) -> "Archive":
        """A with b at its end: a vector or a trace, or several, the vectors as rows."""
        if self.size == 0:
            return archive_of([b] if is_trace(b) else b)
        buffer: Any = self.buffer
        return Archive(*buffer.extended(self.size, b))

    def extends(self, other: "Archive") -> bool:
        """Whether `other` is an earlier value of this archive, by construction."""
        return self.buffer is other.buffer and self.size >= other.size


def archive_of(behaviors: ArrayLike | Sequence[Trace]) -> Archive:
    """An archive of these behaviors: vectors, (|A|, dimensions), or traces."""
    if isinstance(behaviors, Sequence) and len(behaviors) and all(map(is_trace, behaviors)):
        return Archive(Traces(as_traces(map(np.array, behaviors))), len(behaviors))
    rows = np.array(behaviors, np.float64, ndmin=2)
    if rows.shape[1] == 0:  # `[]` is no behavior, not one without numbers
        rows = np.empty((0, 0))
    return Archive(Buffer(rows), len(rows))


def empty(dimensions: int) -> Archive:
    return archive_of(np.empty((0, dimensions)))
