"""Runs that share CPUs: how many there are, and how many workers each of them has.

Two workers for every CPU: what one run leaves idle, at the end of a generation or while it
evaluates a member, the kernel gives to the others. It is also fair to all of them, and nobody has
to take anything back from a run that was killed.
"""

import os
from collections.abc import Callable
from math import ceil, floor

from nses.execution.shared import Field, anonymous_file, map_arrays, size_of

OVERLAP = 2  # workers for every CPU

_FIELDS: list[Field] = [("runs", "i8", (1,))]

Sharers = Callable[[], int]  # runs that share the CPUs, this one included


def alone() -> int:
    """All CPUs are for one run."""
    return 1


def share_of(cpus: int, runs: int) -> int:
    """Workers for each of some runs on so many CPUs; a run that has a CPU of its own wastes none.

    The number never falls as other runs end.
    """
    return 1 if runs >= cpus else min(cpus, ceil(OVERLAP * cpus / runs))


class Board:
    """Where the number of runs is written, for all of them to see; closing it changes nothing."""

    def __init__(self) -> None:
        self.descriptor = anonymous_file(size_of(_FIELDS))
        self.runs = map_arrays(self.descriptor, _FIELDS)["runs"]
        self.write(1)

    def write(self, runs: int) -> None:
        self.runs[0] = max(1, runs)

    def close(self) -> None:
        os.close(self.descriptor)


def sharers_on(descriptor: int) -> Sharers:
    """Reads a board that this process was given; the descriptor is not needed any more."""
    runs = map_arrays(descriptor, _FIELDS)["runs"]
    os.close(descriptor)
    return lambda: int(runs[0])


def claim(cpus: int, runs: int) -> float:
    """CPUs that a foreman takes, of those that so many runs share. Ray splits no more than one."""
    return float(cpus // runs) if cpus >= runs else floor(1e4 * cpus / runs) / 1e4
