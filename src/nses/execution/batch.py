"""One batch of candidates for worker processes: its place in memory, and its units of work."""

from collections import Counter, deque
from collections.abc import Iterator

from nses.core.archive import Archive
from nses.core.noise import Epsilon
from nses.core.values import Candidates
from nses.execution.evaluator import First
from nses.execution.shared import Field

UNIT = 32  # candidates, at most


def noise_fields(size: int) -> list[Field]:
    return [("table", "f4", (size,))]


def batch_fields(d: int, capacity: int, moments_size: int, workers: int) -> list[Field]:
    """What the coordinator tells (one batch of candidates) and what each worker is at."""
    return [
        ("theta", "f4", (d,)),
        ("moments", "f8", (1 + 2 * moments_size,)),
        ("seeds", "i8", (capacity,)),
        ("offsets", "i8", (capacity,)),
        ("contributes", "u1", (capacity,)),
        ("sigma", "f8", (1,)),
        ("current", "i8", (workers,)),  # the candidate that a worker plays, -1 when idle
        ("played", "i8", (workers,)),  # episodes started, which shows a deadline's progress
    ]


class Batch:
    """What is left to do of one call: units of candidates, and how often each killed its worker."""

    def __init__(self, number: int, candidates: Candidates, archive: Archive, whole: int):
        self.number, self.candidates, self.archive = number, candidates, archive
        self.whole = whole  # candidates of the call, of which these may be a part
        self.pending = deque(units_of(len(candidates)))
        self.deaths: Counter[int] = Counter()  # by candidate; by -1 - slot where none is to blame
        self.restarts = 0
        self.first: First = {}

    @property
    def perturbed(self) -> bool:
        return self.candidates.epsilon is not None

    def keep(self, first: First) -> None:
        """The trace of the lowest index, in whatever order they come."""
        both = self.first | first
        self.first = {i: both[i] for i in sorted(both)[:1]}


def units_of(n: int) -> Iterator[range]:
    """Large units first, so that handing out costs little, then small ones, to end together.

    Pairs stay together, and the boundaries depend on n alone.
    """
    start = 0
    while start < n:
        size = max(2, min(UNIT, (n - start) // 32 * 2))
        yield range(start, min(n, start + size))
        start += size


def part_of(candidates: Candidates, part: slice) -> Candidates:
    """Some of the candidates, from an even index to an even one."""
    epsilon, contributes = candidates.epsilon, candidates.contributes
    if epsilon is not None:
        offsets = epsilon.offsets[part.start // 2 : part.stop // 2]
        epsilon = Epsilon(epsilon.table, offsets, epsilon.d)
    return Candidates(
        candidates.theta,
        candidates.moments,
        candidates.seeds[part],
        candidates.sigma,
        epsilon,
        None if contributes is None else contributes[part],
    )
