"""Which node holds which candidates of a job: bookkeeping without a network or clocks.

Towards the end, several nodes may hold the same one. The first result counts; later ones must
agree with it.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from math import ceil

import numpy as np
from numpy.typing import NDArray

from nses.execution.ledger import UNIT

Indices = NDArray[np.int64]
NO_INDICES: Indices = np.empty(0, np.int64)
NOTHING_KEPT: Mapping[str, Indices] = {}


class Shares:
    """What is left of n candidates, and which nodes hold it, by name."""

    def __init__(self, n: int, kept: Mapping[str, Indices] = NOTHING_KEPT):
        self.open = np.ones(n, np.bool_)  # candidates without a result
        self.holders = np.zeros(n, np.int64)
        self.held: dict[str, NDArray[np.bool_]] = {}
        self.kept = kept  # what nodes have played ahead, at least in part

    @property
    def free(self) -> int:
        """How many open candidates nobody holds."""
        return int((self.open & (self.holders == 0)).sum())

    def take(self, node: str, most: int) -> Indices:
        """The next candidates that nobody holds: those that this node has kept come first, and
        those that others have kept come last, from the end, where their keepers come last."""
        free = np.flatnonzero(self.open & (self.holders == 0))
        if self.kept:
            theirs = np.zeros(len(self.open), np.int64)
            for name, indices in self.kept.items():
                theirs[indices] = -1 if name == node else 1
            theirs = theirs[free]
            free = free[np.lexsort((np.where(theirs > 0, -free, free), theirs))]
        return self._give(node, np.sort(free[:most]))

    def copies(self, node: str, most: int) -> Indices:
        """Candidates that others hold: those with the fewest holders first, of these the last ones.

        Their holders come to those last.
        """
        theirs = np.flatnonzero(self.open & (self.holders > 0) & ~self._of(node))
        order = np.lexsort((-theirs, self.holders[theirs]))
        return self._give(node, np.sort(theirs[order[:most]]))

    def settled_elsewhere(self, node: str) -> Indices:
        """What a node holds but no longer needs to play; returned once."""
        held = self._of(node)
        settled = np.flatnonzero(held & ~self.open)
        held[settled] = False
        return settled

    def accept(self, node: str, indices: Indices) -> NDArray[np.bool_]:
        """For which of these candidates this is the first result."""
        held = self._of(node)
        mine = indices[held[indices]]
        held[mine] = False
        self.holders[mine] -= 1
        first = self.open[indices]
        self.open[indices] = False
        return first

    def keep(self, nodes: Collection[str]) -> None:
        """Forgets all other nodes; what they alone held is free again."""
        for gone in self.held.keys() - set(nodes):
            self.holders[self.held.pop(gone)] -= 1

    def count(self, node: str) -> int:
        """How many candidates a node holds."""
        return int(self._of(node).sum())

    def held_of(self, node: str, indices: Iterable[int]) -> list[int]:
        """Those of these candidates that a node holds."""
        held = self._of(node)
        return [i for i in indices if held[i]]

    def _give(self, node: str, indices: Indices) -> Indices:
        self._of(node)[indices] = True
        self.holders[indices] += 1
        return indices

    def _of(self, node: str) -> NDArray[np.bool_]:
        return self.held.setdefault(node, np.zeros(len(self.open), np.bool_))


def blocks_of(n: int, workers: Sequence[int], step: int) -> list[range]:
    """A block of n things for each node, by its number of workers, in multiples of the step."""
    ends = np.cumsum(workers)
    ends = np.round(ends / ends[-1] * ceil(n / step)).astype(int) * step
    stops = [min(n, int(end)) for end in ends]
    return [range(start, stop) for start, stop in zip([0, *stops], stops, strict=False)]


def units_among(indices: Indices, workers: int) -> Iterator[range]:
    """Ranges of these candidates, from large to small, so that all workers end together."""
    runs = np.split(indices, np.flatnonzero(np.diff(indices) != 1) + 1) if len(indices) else []
    left = len(indices)
    for run in runs:
        start, stop = int(run[0]), int(run[-1]) + 1
        while start < stop:
            size = min(stop - start, UNIT, max(1, left // (4 * workers)))
            yield range(start, start + size)
            start, left = start + size, left - size
