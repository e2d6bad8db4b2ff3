"""Which node holds which candidates of a job: bookkeeping without a network or clocks.

Towards the end, several nodes may hold the same one. The first result counts; later ones must
agree with it.
"""

from collections.abc import Collection, Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from nses.execution.ledger import UNIT

Indices = NDArray[np.int64]


class Shares:
    """What is left of n candidates, and which nodes hold it, by name."""

    def __init__(self, n: int):
        self.open = np.ones(n, np.bool_)  # candidates without a result
        self.holders = np.zeros(n, np.int64)
        self.held: dict[str, NDArray[np.bool_]] = {}

    @property
    def free(self) -> int:
        """How many open candidates nobody holds."""
        return int((self.open & (self.holders == 0)).sum())

    def take(self, node: str, most: int) -> Indices:
        """The next candidates that nobody holds."""
        return self._give(node, np.flatnonzero(self.open & (self.holders == 0))[:most])

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
