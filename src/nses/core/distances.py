"""Distances between behaviors, by name."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from nses.core.compiled import compiled
from nses.errors import UsageError

Floats = NDArray[np.float64]


def _same(squared: Floats) -> Floats:
    return squared


# Both grow with the squared distance, so the nearest neighbours are the same; the mean differs.
VECTOR_DISTANCES: dict[str, Callable[[Floats], Floats]] = {
    "squared-euclidean": _same,  # Sec. 4.1
    "euclidean": np.sqrt,  # Sec. 2.2
}

# For traces: True takes the root at every step, False the root of the sum over all steps.
TRACE_DISTANCES = {
    "ram": True,  # Sec. 4.2
    "ram-total": False,  # the authors' code
}

DISTANCES = (*VECTOR_DISTANCES, *TRACE_DISTANCES)


def check_distance(distance: str, traces: bool) -> None:
    """UsageError unless this is a distance between traces, or between vectors if not `traces`."""
    if distance not in DISTANCES:
        raise UsageError(f"distance must be one of {', '.join(DISTANCES)}, got {distance!r}.")
    fitting, kind = (TRACE_DISTANCES, "traces") if traces else (VECTOR_DISTANCES, "vectors")
    if distance not in fitting:
        raise UsageError(
            f"for behaviors that are {kind}, distance must be {' or '.join(fitting)}, "
            f"got {distance!r}."
        )


@compiled
def squared_distance(a, b):
    total = 0.0
    for j in range(a.size):
        difference = a[j] - b[j]
        total += difference * difference
    return total


@compiled
def insert_sorted(smallest, value):
    """Keep the k smallest values, ascending; `smallest` starts out as infinities."""
    i = smallest.size - 1
    if value >= smallest[i]:
        return
    while i > 0 and smallest[i - 1] > value:
        smallest[i] = smallest[i - 1]
        i -= 1
    smallest[i] = value


@compiled
def k_smallest(b, rows, start, known, k):
    """Squared distances to the k nearest rows, ascending, (n, k).

    Scans rows[start:] and, for each query, the rows whose indices are in `known`, (n, any).
    """
    out = np.full((len(b), k), np.inf)
    for i in range(len(b)):
        for j in known[i]:
            insert_sorted(out[i], squared_distance(b[i], rows[j]))
        for j in range(start, len(rows)):
            insert_sorted(out[i], squared_distance(b[i], rows[j]))
    return out
