"""Traces: behaviors that hold the state of every step in bytes, such as Atari's RAM (Sec. 4.2).

They are as long as their episodes, so several of them form a list, not an array.
"""

from collections.abc import Iterable
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from nses.core.compiled import compiled
from nses.core.distances import insert_sorted
from nses.errors import UsageError

Trace = NDArray[np.uint8]  # (T, C): at least one state, each of C bytes

WIDEST = 1 << 16  # bytes of a state, so that the sum of squared differences fits into 32 bits


def is_trace(b: object) -> TypeGuard[Trace]:
    return isinstance(b, np.ndarray) and b.dtype == np.uint8 and b.ndim == 2


def as_trace(b: Any, width: int | None = None) -> Trace:
    """A read-only view of a trace, laid out as compiled code expects."""
    if not is_trace(b) or not 1 <= b.shape[1] <= WIDEST or len(b) == 0:
        kind = f"{b.dtype} {b.shape}" if isinstance(b, np.ndarray) else type(b).__name__
        raise UsageError(
            "a trace must be a uint8 array of shape (steps, bytes), with at least one step and "
            f"at most {WIDEST} bytes, got {kind}."
        )
    if width not in (None, b.shape[1]):
        raise UsageError(
            f"all states must have the same number of bytes, got {width} and {b.shape[1]}."
        )
    trace = np.ascontiguousarray(b).view()
    trace.flags.writeable = False
    return trace


def as_traces(traces: Iterable[Any], width: int | None = None) -> list[Trace]:
    """Views of several traces, checked to have the same width, on which compiled code relies."""
    views: list[Trace] = []
    for b in traces:
        views.append(as_trace(b, width))
        width = views[0].shape[1]
    return views


def k_nearest_traces(b: Trace, traces: Iterable[Trace], k: int, root: bool) -> NDArray[np.float64]:
    """Distances (see `distance`) to the k nearest of these, ascending, whatever their order."""
    nearest = np.full(k, np.inf)
    for trace in traces:
        insert_sorted(nearest, distance(b, trace, root, nearest[-1]))
    return nearest


@compiled
def distance(a, b, root, bound):
    """sum_t |a_t - b_t|, or the sum of squares; the shorter one's last state is repeated.

    Stops at `bound`, where the partial sum is already too far to matter, and returns that sum.
    """
    last_a, last_b = len(a) - 1, len(b) - 1
    total = 0.0
    for t in range(max(len(a), len(b))):
        squared = np.float64(squared_difference(a[min(t, last_a)], b[min(t, last_b)]))
        total += np.sqrt(squared) if root else squared
        if total >= bound:
            break
    return total


@compiled
def squared_difference(a, b):
    """sum_j (a_j - b_j)^2, exactly. Narrow integers fit 16 bytes into one vector register."""
    total = np.uint32(0)
    for j in range(a.size):
        difference = np.int16(np.int16(a[j]) - np.int16(b[j]))
        total = np.uint32(total + np.int32(difference) * np.int32(difference))
    return total
