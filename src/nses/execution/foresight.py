"""The job that will probably come next, for workers that have nothing else to do.

Each of them has a share of its own. It keeps the episodes to itself until they are really asked
for: only then is their novelty measured, and only then can one of them fail. After a wrong guess
they are dropped. An episode is a pure function of its job, so the results are the same either way.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice, pairwise
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from nses.core.values import Candidates
from nses.execution.batch import Batch, Worker
from nses.execution.job import NOTHING, Job, Memory, job_of
from nses.execution.ledger import units_of
from nses.execution.places import Places

NOBODY = -1
T = TypeVar("T")

Work = tuple[Job, list[range]]  # a job, and the candidates to play of it, the first ones first
Keepers = NDArray[np.int64]  # by candidate: the slot of the worker that has played it, or NOBODY


class Hunch(Generic[T]):
    """A hint at what comes next: it is given, then holds, then is taken by who has time for it."""

    def __init__(self) -> None:
        self.told: Callable[[], T] | None = None  # holds once the next job has begun
        self.held: Callable[[], T] | None = None  # holds now

    def tell(self, hint: Callable[[], T]) -> None:
        """What will probably be played after the job that begins next."""
        self.told = hint

    def begun(self, right: bool | None) -> bool:
        """A new hint holds from now on. Returns whether the one before it is over."""
        over = right is not None or self.told is not None
        self.held, self.told = self.told or (None if over else self.held), None
        return over

    def take(self) -> T | None:
        """What was hinted at, once."""
        hint, self.held = self.held, None
        return None if hint is None else hint()


class Foresight:
    """What was hinted at, the job that became of it, and who has which share of that.

    Larger jobs than the capacity are ignored.
    """

    def __init__(self, places: Places, progress: Memory, capacity: int):
        self.places, self.progress, self.capacity = places, progress, capacity
        self.hunch: Hunch[Work] = Hunch()
        self._forget()

    def _forget(self) -> None:
        self.job, self.number = NOTHING, 0  # what the hint led to; 0: nobody had time for it
        self.shares: dict[int, list[range]] = {}  # by the worker's slot
        self.resting: set[int] = set()  # slots whose workers have nothing left to do

    def tell(self, hint: Callable[[], Work]) -> None:
        """What will probably be played after the job that begins next."""
        if self.capacity:
            self.hunch.tell(hint)

    def begins(self, job: Job) -> bool | None:
        """Whether this is what was foreseen; None if nothing was, or it is not a generation's."""
        return judged(self.job, job)

    def begun(self, right: bool | None) -> None:
        """A hint that has been judged is over; a new one holds from now on."""
        if self.hunch.begun(right):
            self._forget()
            self.progress["foreseen"][0] = 0  # workers at it stop

    def keepers(self, n: int, workers: Iterable[Worker]) -> Keepers:
        """Who has played which candidates; what somebody is just playing counts as well."""
        found = np.full(n, NOBODY)
        for worker in workers:
            count = int(self.progress["ahead"][worker.slot]) + worker.holder.ahead
            share = chain(*self.shares.get(worker.slot, ()))
            found[list(islice(share, count))] = worker.slot
        return found

    def employ(self, workers: list[Worker], batch: Batch) -> None:
        """Gives those who have nothing else to do something that may be of use later."""
        if batch.ledger.pending or (self.hunch.held is None and not self.number):
            return
        idle = [worker for worker in workers if worker.idle and worker.slot not in self.resting]
        if not idle or not self._looked(workers, batch):
            return
        for worker in idle:
            if share := self.shares.get(worker.slot):
                turn, place = int(self.progress["turn"][0]), self.places.of(self.number)
                worker.look_ahead(turn, self.number, place, share)

    def back(self, slot: int, number: int, more: bool) -> None:
        """A worker has stopped looking ahead; whether there is more that it can do."""
        if number == self.number and not more:
            self.resting.add(slot)

    def _looked(self, workers: list[Worker], batch: Batch) -> bool:
        """Whether there is a job to look at; the first time, it is made from the hint."""
        if self.number or self.hunch.held is None:
            return self.number > 0
        read = {number for worker in workers for number in worker.asked}
        place = self.places.vacant(batch.number, read)
        if self.places.numbers[place] in read:  # nobody is ended for a guess
            return False
        job, units = self.hunch.take() or (NOTHING, [])
        if 0 < len(job) <= self.capacity:
            self.job, self.number = job, self.places.publish(job, place)
            self.progress["ahead"][:] = 0
            self.progress["foreseen"][0] = self.number
            slots = [worker.slot for worker in workers]
            self.shares = {slot: units[i :: len(slots)] for i, slot in enumerate(slots)}
        return self.number > 0


def whole(candidates: Candidates) -> Work:
    """All candidates. Large units come first: the small ones are for the end of the real job."""
    job = job_of(candidates, NOTHING.archive)
    return job, list(units_of(len(job)))


def judged(foreseen: Job, job: Job) -> bool | None:
    """Whether a job is the one that was foreseen; None if nothing was, or it is not a generation's
    first."""
    if not len(foreseen) or not job.perturbed or job.enough is not None:
        return None
    return all(map(np.array_equal, _content(foreseen), _content(job)))


def split(units: Iterable[range], keepers: Keepers) -> Iterator[tuple[int, range]]:
    """The same candidates in units that each have one keeper, or none."""
    for unit in units:
        changes = np.flatnonzero(np.diff(keepers[unit.start : unit.stop])) + unit.start + 1
        for start, stop in pairwise([unit.start, *changes.tolist(), unit.stop]):
            yield int(keepers[start]), range(start, stop)


def _content(job: Job) -> Iterator[Any]:
    """All that returns and behaviors depend on."""
    yield from (job.theta, job.moments.row, job.seeds, job.offsets, job.contributes, job.sigma)
