"""Novelty: the mean distance to the k nearest behaviors in the archive (Sec. 2.2). Always exact."""

from collections.abc import Sequence
from numbers import Integral
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nses.core.archive import Archive, Buffer, Characterization, archive_of
from nses.core.distances import TRACE_DISTANCES, VECTOR_DISTANCES, check_distance, k_smallest
from nses.core.traces import Trace, as_traces, is_trace, k_nearest_traces
from nses.errors import UsageError

TREE_FROM = 8192  # rows; below, scanning is as fast as a tree
TREE_TAIL = 1024  # rows added since the tree was built; scanned until it is rebuilt
TREE_DIMENSIONS = 8  # above, a tree visits most rows anyway
SPARE = 8  # neighbours requested beyond k: the tree rounds differently, so near-ties may swap


@overload
def novelty(b: Trace, archive: Archive, k: int, distance: str = ...) -> float: ...
@overload
def novelty(
    b: NDArray[np.float64] | Sequence[Characterization],
    archive: Archive,
    k: int,
    distance: str = ...,
) -> NDArray[np.float64]: ...
@overload
def novelty(
    b: ArrayLike | Sequence[Trace],
    archive: Archive | ArrayLike | Sequence[Trace],
    k: int,
    distance: str = ...,
) -> Any: ...
def novelty(b: Any, archive: Any, k: int, distance: str = "squared-euclidean") -> Any:
    """N(b, A) = 1/|S| sum over S of distance(b, b_j), S the k nearest neighbours of b in A.

    One behavior b gives a number, n of them give (n,). Behaviors are vectors, (n, dimensions), or,
    for the distances ram and ram-total, traces, each uint8 (steps, bytes).
    An empty archive gives 0; if it has fewer than k entries, all of them count.
    """
    if not isinstance(k, Integral) or k < 1:
        raise UsageError(f"k must be a whole number of neighbours, at least 1, got k={k}.")
    of_traces = distance in TRACE_DISTANCES
    check_distance(distance, of_traces)
    if of_traces:
        one = is_trace(b)
        nearest = _among_traces([b] if one else b, archive, k, distance)
    else:
        one = np.ndim(b) < 2
        nearest = _among_vectors(np.atleast_2d(np.asarray(b, np.float64)), archive, k, distance)
    # Adding the ascending distances one by one gives the same bits for any batch of queries.
    N = np.zeros(len(nearest))
    for column in nearest.T:
        N += column
    N /= max(1, nearest.shape[1])
    return float(N[0]) if one else N


def _among_traces(b: Any, archive: Any, k: int, distance: str) -> NDArray[np.float64]:
    """Distances to the k nearest, ascending, (n, k)."""
    A = archive.traces if isinstance(archive, Archive) else as_traces(archive)
    if len(A) < len(archive):
        raise UsageError(f"{distance} is a distance between traces, but the archive holds vectors.")
    k, root = min(k, len(A)), TRACE_DISTANCES[distance]
    queries = as_traces(b, A[0].shape[1] if A else None)
    nearest = np.empty((len(queries), k))
    for i, query in enumerate(queries):
        # The newest are usually the nearest: after them, the other distances are cut short.
        nearest[i] = k_nearest_traces(query, reversed(A), k, root)
    return nearest if root else np.sqrt(nearest)


def _among_vectors(
    b: NDArray[np.float64], archive: Any, k: int, distance: str
) -> NDArray[np.float64]:
    A = archive if isinstance(archive, Archive) else archive_of(archive)
    if A.traces:
        raise UsageError(f"{distance} is a distance between vectors, but the archive holds traces.")
    if b.ndim > 2 or A.rows.ndim > 2:
        raise UsageError(
            f"behaviors and archive must have shape (n, dimensions), got {b.shape} and "
            f"{A.rows.shape}."
        )
    if len(A) and b.shape[1] != A.rows.shape[1]:
        raise UsageError(
            f"behaviors have {b.shape[1]} numbers, but those in the archive {A.rows.shape[1]}."
        )
    return VECTOR_DISTANCES[distance](_k_nearest(b, A, min(k, len(A))))


def _k_nearest(b: NDArray[np.float64], A: Archive, k: int) -> NDArray[np.float64]:
    rows = A.rows
    if len(rows) < TREE_FROM or rows.shape[1] > TREE_DIMENSIONS:
        return _scan(b, rows, k)
    from scipy.spatial import KDTree  # half a second to import, and few runs need it

    buffer = A.buffer
    assert isinstance(buffer, Buffer)
    tree = buffer.tree
    if not (isinstance(tree, KDTree) and 0 <= len(rows) - tree.n <= TREE_TAIL):
        tree = buffer.tree = KDTree(rows, balanced_tree=False, compact_nodes=False)
    far, known = tree.query(b, k=k + SPARE)
    # The index n stands for a row not found: its square overflows, or there are too few rows.
    missed = np.isinf(far).any(axis=1)
    nearest = k_smallest(b, rows, tree.n, known % tree.n, k)
    # If even the farthest row found is a near-tie with the k-th, the tree may have missed one.
    kth = nearest[:, -1]
    crowded = missed | (kth > 0) & (far[:, -1] ** 2 <= kth * (1 + 1e-9))
    if crowded.any():
        nearest[crowded] = _scan(b[crowded], rows, k)
    return nearest


def _scan(b: NDArray[np.float64], rows: NDArray[np.float64], k: int) -> NDArray[np.float64]:
    return k_smallest(b, rows, 0, np.empty((len(b), 0), np.int64), k)
