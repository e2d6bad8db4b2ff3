"""The archive A of behaviors: a value that only grows, by one entry per generation."""

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

    `tree` is a search tree over the first rows (see novelty.py). Rows never change once written, so
    the tree stays valid for every archive that has at least these rows.
    """

    def __init__(self, rows: NDArray[np.float64]):
        self.data = rows
        self.used = len(rows)
        self.tree: object = None

    def extended(self, size: int, b: ArrayLike) -> "tuple[Buffer, int]":
        """Storage of the first `size` rows followed by those of b, and their total number."""
        added = np.atleast_2d(np.asarray(b, np.float64))
        if added.shape[1:] != self.data.shape[1:]:
            raise UsageError(
                f"behaviors in this archive have {self.data.shape[1]} numbers, got an array of "
                f"shape {np.shape(b)}."
            )
        total = size + len(added)
        # If there are more rows, a newer archive uses the space after ours: copy.
        buffer = self if self.used == size else Buffer(self.data[:size].copy())
        if total > len(buffer.data):
            grown = np.empty((max(64, total, 2 * len(buffer.data)), added.shape[1]))
            grown[:size] = buffer.data[:size]
            buffer.data = grown
        buffer.data[size:total] = added
        buffer.used = total
        return buffer, total


class Traces:
    """The same for traces: a list, since they differ in length."""

    def __init__(self, traces: list[Trace]):
        self.data = traces

    def extended(self, size: int, b: Trace | Sequence[Trace]) -> "tuple[Traces, int]":
        added = as_traces(map(np.array, [b] if is_trace(b) else b), self.data[0].shape[1])
        traces = self if len(self.data) == size else Traces(self.data[:size])
        traces.data += added
        return traces, len(traces.data)


@dataclass(frozen=True, eq=False)
class Archive:
    """The first `size` entries of a buffer, vectors or traces. An empty one can become either."""

    buffer: Buffer | Traces
    size: int

    def __len__(self) -> int:
        return self.size

    def __repr__(self) -> str:
        return f"<archive of {self.size:,} {'traces' if self.traces else 'behaviors'}>"

    @property
    def rows(self) -> NDArray[np.float64]:
        """All vectors, (|A|, dimensions), read-only because other archives share them."""
        if isinstance(self.buffer, Traces):
            raise UsageError("this archive holds traces, which have no rows; use .traces instead.")
        rows = self.buffer.data[: self.size]
        rows.flags.writeable = False
        return rows

    @property
    def traces(self) -> list[Trace]:
        """All traces, also read-only; none in an archive of vectors."""
        return self.buffer.data[: self.size] if isinstance(self.buffer, Traces) else []

    def append(self, b: ArrayLike | Sequence[Trace]) -> "Archive":
        """A with b appended: one vector or trace, several vectors as rows, or a list of traces."""
        if self.size == 0:
            return archive_of([b] if is_trace(b) else b)
        buffer: Any = self.buffer
        return Archive(*buffer.extended(self.size, b))

    def extends(self, other: "Archive") -> bool:
        """Whether this archive was made by appending to `other`."""
        return self.buffer is other.buffer and self.size >= other.size


def archive_of(behaviors: ArrayLike | Sequence[Trace]) -> Archive:
    """An archive of these behaviors: vectors, (|A|, dimensions), or traces."""
    if isinstance(behaviors, Sequence) and len(behaviors) and all(map(is_trace, behaviors)):
        return Archive(Traces(as_traces(map(np.array, behaviors))), len(behaviors))
    rows = np.array(behaviors, np.float64, ndmin=2)
    if rows.shape[1] == 0:  # `[]` means no behaviors, not one behavior without numbers
        rows = np.empty((0, 0))
    return Archive(Buffer(rows), len(rows))


def empty(dimensions: int) -> Archive:
    return archive_of(np.empty((0, dimensions)))


def mean(b: NDArray[Any]) -> NDArray[np.float64]:
    """Of the finite behaviors among these; NaN where there is none, which is well for ES."""
    known = b[np.isfinite(b).all(axis=1)]
    return known.mean(axis=0) if len(known) else np.full(b.shape[1], np.nan)
