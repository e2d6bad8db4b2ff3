"""How the member to update is selected: by Eq. 1 of the paper, at random, or in turn."""

from collections.abc import Callable

import numpy as np

from nses.core.seeding import Purpose, generator
from nses.core.values import Floats


def selection_probabilities(N: Floats) -> Floats:
    """P(m) = N(theta^m, A) / sum_j N(theta^j, A) (Eq. 1); uniform if that is undefined."""
    total = N.sum()
    if not (np.isfinite(total) and total > 0):
        return np.full(len(N), 1 / len(N))
    return N / total


# P, (M,), from the novelty of the members, (M,), and the generation t.
SELECTIONS: dict[str, Callable[[Floats, int], Floats]] = {
    "novelty": lambda N, t: selection_probabilities(N),  # of their last known behaviors
    "fresh": lambda N, t: selection_probabilities(N),  # of new episodes, as in the authors' code
    "uniform": lambda N, t: np.full(len(N), 1 / len(N)),
    "round-robin": lambda N, t: np.eye(len(N))[t % len(N)],  # an option of the authors' code
}


def select(P: Floats, seed: int, t: int) -> int:
    """m ~ P."""
    u = generator(seed, t, 0, Purpose.SELECTION).random()
    return min(int(np.searchsorted(np.cumsum(P), u, side="right")), len(P) - 1)
