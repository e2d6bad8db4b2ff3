"""How many candidates a generation plays where it has a budget of steps besides n.

Mirrored pairs are added by index until their episodes together have made enough steps. What counts
is the index, never the moment at which an episode ends: otherwise short episodes would be favored.
"""

from math import ceil

import numpy as np
from numpy.typing import NDArray

MARGIN = 1.1  # asked for beyond what the mean length suggests: what is too much is cut
MOST_ADDED = 1024  # candidates asked for at a time


def cut(lengths: NDArray[np.int64], enough: int) -> int:
    """How many of the candidates, whole pairs from the first on, make `enough` steps; else all."""
    steps = np.cumsum(lengths[::2] + lengths[1::2])
    return 2 * min(int(np.searchsorted(steps, enough)) + 1, len(steps))


def likely(lengths: NDArray[np.int64], missing: int) -> int:
    """How many more candidates will probably make so many steps, after episodes so long."""
    pair = max(1.0, 2 * float(lengths.mean()))
    return 2 * min(ceil(MARGIN * missing / pair), MOST_ADDED // 2)
