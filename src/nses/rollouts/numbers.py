"""Numbers of a vector by their places, as in `0:45,60`."""

import re
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from nses.errors import UsageError

PLACE = re.compile(r"([0-9]{1,9})|([0-9]{0,9}):([0-9]{0,9})")  # 60, 0:45, :45, 300:


def places_of(keys: tuple[str, ...], size: int) -> NDArray[np.intp]:
    """The places that the keys name in a vector of this size, each once and in its order."""
    chosen = np.zeros(size, bool)
    for key in keys:
        found = PLACE.fullmatch(key)
        if found is None:
            raise UsageError(
                f"--observation takes the places of numbers here, such as 0:{max(1, size // 2)} or "
                f"0,2, got {key!r}."
            )
        one, start, stop = found.groups()
        first, end = (int(one), int(one) + 1) if one else (int(start or 0), int(stop or size))
        if not first < end <= size:
            raise UsageError(
                f"--observation {key} names no number: the observation has {size}, counted from 0."
            )
        chosen[first:end] = True
    return np.flatnonzero(chosen)


def stretches_of(places: NDArray[np.intp]) -> Iterator[slice]:
    """Ascending places as slices of neighbours."""
    for run in np.split(places, np.flatnonzero(np.diff(places) > 1) + 1):
        if run.size:
            yield slice(int(run[0]), int(run[-1]) + 1)
