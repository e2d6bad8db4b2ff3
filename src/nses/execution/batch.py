"""One batch of candidates for worker processes, and its place in memory."""

from nses.core.archive import Archive
from nses.core.noise import Epsilon
from nses.core.values import Candidates
from nses.execution.evaluator import First
from nses.execution.ledger import Ledger
from nses.execution.shared import Field


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
    """One call on its way: what to play, who plays it, and the first trace that came of it."""

    def __init__(self, number: int, candidates: Candidates, archive: Archive, whole: int):
        self.number, self.candidates, self.archive = number, candidates, archive
        self.whole = whole  # candidates of the call, of which these may be a part
        self.ledger = Ledger(len(candidates))
        self.first: First = {}

    @property
    def perturbed(self) -> bool:
        return self.candidates.epsilon is not None

    def keep(self, first: First) -> None:
        """The trace of the lowest index, in whatever order they come."""
        both = self.first | first
        self.first = {i: both[i] for i in sorted(both)[:1]}


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
