"""Centered ranks: what ES optimises instead of raw numbers."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nses.errors import UsageError


def centered_ranks(x: ArrayLike, *, ordinal: bool = False) -> NDArray[np.float64]:
    """Ranks of x, (n,), scaled to [-1/2, 1/2]; ties share their mean rank.

    A constant x therefore gives zeros, and so a gradient of exactly 0. With `ordinal`, equal
    values are ranked in the order in which they appear, as in the authors' code.
    """
    x = np.asarray(x, np.float64)
    if x.ndim != 1:
        raise UsageError(f"centered_ranks takes one axis of numbers, got shape {x.shape}.")
    if np.isnan(x).any():
        raise UsageError("centered_ranks cannot rank NaN; leave those candidates out.")
    n = x.size
    if n < 2:
        return np.zeros(n)
    if ordinal:
        ranks = np.empty(n)
        ranks[np.argsort(x, kind="stable")] = np.arange(n)
    else:
        _, inverse, counts = np.unique(x, return_inverse=True, return_counts=True)
        ranks = (np.cumsum(counts) - (counts + 1) / 2)[inverse]
    return ranks / (n - 1) - 0.5
