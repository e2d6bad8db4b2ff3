"""Traces: behaviors that hold a state of bytes for every step, such as Atari's RAM (Sec. 4.2).

They are as long as their episodes, so that several of them are a list, not an array.
"""

from collections.abc import Iterable
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from nses.core.compiled import compiled
from nses.core.distances import insert_sorted
from nses.errors import UsageError

Trace = NDArray[np.uint8]  # (T, C): at least one state, each of C bytes

WIDEST = 1 << 16  # bytes of a state: the sum of their squared differences fits into 32 bits


def is_trace(b: object) -> TypeGuard[Trace]:
    return isinstance(b, np.ndarray) and b.dtype == np.uint8 and b.ndim == 2


def as_trace(b: Any, width: int | None = None) -> Trace:
    """A view of a trace as the compiled code takes it, which nobody writes through."""
    if not is_trace(b) or not 1 <= b.shape[1] <= WIDEST or len(b) == 0:
        kind = f"{b.dtype} {b.shape}" if isinstance(b, np.ndarray) else type(b).__name__
        raise UsageError(
            "a trace must be a uint8 array of shape (steps, bytes), with a step at least and "
            f"{WIDEST} bytes at most, got {kind}."
        )
    if width not in (None, b.shape[1]):
        raise UsageError(f"states must all have as many bytes, got {width} and {b.shape[1]}.")
    trace = np.ascontiguousarray(b).view()
    trace.flags.writeable = False
    return trace


def as_traces(traces: Iterable[Any], width: int | None = None) -> list[Trace]:
    """Views of several traces, all of the same width, as compiled code must be sure of."""
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
    """sum_t |a_t - b_t|, or the sum of the squares; the last state of the shorter one stays.

    Sums only grow: at `bound` it is too far to matter, and what has been added up is returned.
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
    """Exact. The narrow integers let 16 bytes at a time share a vector register."""
    total = np.uint32(0)
    for j in range(a.size):
        difference = np.int16(np.int16(a[j]) - np.int16(b[j]))
        total = np.uint32(total + np.int32(difference) * np.int32(difference))
    return total
