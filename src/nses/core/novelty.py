"""Novelty: the mean distance to the k nearest behaviors of the archive (Sec. 2.2). Always exact."""

from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nses.core.archive import Archive, archive_of
from nses.core.distances import DISTANCES, k_smallest

TREE_FROM = 8192  # rows; below, scanning is as fast as a tree
TREE_TAIL = 1024  # rows scanned behind the tree before it is built anew
TREE_DIMENSIONS = 8  # above, a tree visits most rows anyway
SPARE = 8  # neighbours asked of the tree beyond k: it rounds differently, near-ties may swap


@overload
def novelty(
    b: NDArray[np.float64], archive: Archive, k: int, distance: str = ...
) -> NDArray[np.float64]: ...
@overload
def novelty(b: ArrayLike, archive: Archive | ArrayLike, k: int, distance: str = ...) -> Any: ...
def novelty(
    b: ArrayLike, archive: Archive | ArrayLike, k: int, distance: str = "squared-euclidean"
) -> Any:
    """N(b, A) = 1/|S| sum over S of distance(b, b_j), S the k nearest neighbours of b in A.

    b is one behavior, (dimensions,), which gives a number, or (n, dimensions), which gives (n,).
    An empty archive gives 0; one with fewer than k entries is used whole.
    """
    if k < 1:
        raise ValueError(f"k counts nearest neighbours and must be at least 1, got k={k}.")
    if distance not in DISTANCES:
        raise ValueError(f"distance must be one of {', '.join(DISTANCES)}, got {distance!r}.")
    A = archive if isinstance(archive, Archive) else archive_of(archive)
    queries = np.atleast_2d(np.asarray(b, np.float64))
    if len(A) and queries.shape[1] != A.rows.shape[1]:
        raise ValueError(
            f"behaviors have {queries.shape[1]} numbers, those of the archive {A.rows.shape[1]}."
        )
    nearest = DISTANCES[distance](_k_nearest(queries, A, min(k, len(A))))
    # The k distances are ascending and added one by one: the same bits for any batch of queries.
    N = np.zeros(len(queries))
    for column in nearest.T:
        N += column
    N /= max(1, nearest.shape[1])
    return N if np.ndim(b) > 1 else float(N[0])


def _k_nearest(b: NDArray[np.float64], A: Archive, k: int) -> NDArray[np.float64]:
    rows = A.rows
    if len(rows) < TREE_FROM or rows.shape[1] > TREE_DIMENSIONS:
        return _scan(b, rows, k)
    from scipy.spatial import KDTree  # half a second to import, and few runs need it

    buffer = A.buffer
    if not 0 <= len(rows) - buffer.treed <= TREE_TAIL:
        buffer.tree = KDTree(rows, balanced_tree=False, compact_nodes=False)
        buffer.treed = len(rows)
    assert isinstance(buffer.tree, KDTree)
    far, known = buffer.tree.query(b, k=min(k + SPARE, buffer.treed))
    nearest = k_smallest(b, rows, buffer.treed, known.astype(np.int64), k)
    # Where even the farthest of these is a near-tie with the k-th, the tree may know a nearer one.
    kth = nearest[:, -1]
    crowded = (kth > 0) & (far[:, -1] ** 2 <= kth * (1 + 1e-9))
    if crowded.any():
        nearest[crowded] = _scan(b[crowded], rows, k)
    return nearest


def _scan(b: NDArray[np.float64], rows: NDArray[np.float64], k: int) -> NDArray[np.float64]:
    return k_smallest(b, rows, 0, np.empty((len(b), 0), np.int64), k)
