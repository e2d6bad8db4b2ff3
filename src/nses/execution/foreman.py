"""What runs on every node of a cluster: the owner of its worker processes and its noise.

It knows nothing about the network through which it is called.
"""

import logging
import traceback
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from nses.core.archive import empty
from nses.core.noise import Epsilon, fill_table
from nses.core.values import Floats
from nses.errors import NsesError, UsageError
from nses.execution.batch import Settled
from nses.execution.door import Numerics, Trial, checksum
from nses.execution.job import Job, News
from nses.execution.ledger import Unfit
from nses.execution.own_code import Sources, install, unpacked
from nses.execution.parcel import Parcel, parcel_of
from nses.execution.pool import Pool
from nses.execution.runner import Plan
from nses.execution.shares import NO_INDICES, Indices, units_among
from nses.execution.versions import PLAYING, PROTOCOL, Code, code_of, current_versions

log = logging.getLogger("nses")


@dataclass(frozen=True, eq=False)
class Contract:
    """What a foreman needs to know once."""

    plan: bytes  # a Plan, which may name modules of the user's own
    sources: Sources
    seed: int  # of the table of noise
    noise_size: int
    capacity: int
    deadline: float
    look_ahead: bool = False


@dataclass(frozen=True)
class Introduction:
    """How a foreman introduces itself; `trouble` says why it cannot play."""

    numerics: Numerics = field(default_factory=Numerics)
    trouble: str = ""


NOTHING_HEARD = Settled([], None, (), (), 0, 0)


@dataclass(frozen=True, eq=False)
class Answer:
    """What has become of a foreman's candidates since it was last asked."""

    number: int  # of the job
    parcel: Parcel
    heard: Settled = NOTHING_HEARD  # without rows
    busy: float = 0.0  # seconds that this node's workers have played so far
    said: tuple[str, ...] = ()  # warnings
    fatal: str = ""  # why the job cannot go on, here or anywhere else
    unfit: str = ""  # why this node cannot play any job


class Said(logging.Handler):
    """Keeps what is logged on this node, where nobody would read it, until it is asked for."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(record.getMessage())

    def take(self) -> tuple[str, ...]:
        texts, self.texts = self.texts, []
        return tuple(texts)


class Foreman:
    """Takes candidates and returns rows, one call after the other."""

    def __init__(self, workers: int, most: int | None = None):
        self.workers, self.most = workers, most or workers
        self.number, self.archive = 0, empty(0)
        self.pools: list[Pool] = []  # one, after the introduction
        self.said = Said()
        log.addHandler(self.said)
        log.propagate = False

    def here(self) -> Code:
        """Answers once it has started, which may take a while on a busy cluster."""
        return code_of(PROTOCOL)

    def introduce(self, contract: Contract) -> Introduction:
        """Plays the episodes on which all nodes must agree, then starts its workers."""
        try:
            install(contract.sources)
            plan: Plan = unpacked(contract.plan)
            with closing(Trial(plan, contract.deadline)) as trial:
                episodes = trial.digest()
            pool = Pool(
                plan,
                contract.noise_size,
                capacity=contract.capacity,
                workers=self.most,
                at_first=self.workers,
                deadline=contract.deadline,
                slots=2,
                look_ahead=contract.look_ahead,
            )
        except Exception:
            return Introduction(trouble=traceback.format_exc())
        self.pools.append(pool)
        fill_table(pool.noise, contract.seed)  # while the workers start
        noise = checksum(pool.noise)
        return Introduction(Numerics(current_versions(), episodes, noise, code_of(PLAYING)))

    def grow(self, workers: int) -> None:
        """More workers, since fewer runs share this node now."""
        (pool,) = self.pools
        self.workers = pool.count = workers

    def learn(self, news: News) -> None:
        """Adds entries to the archive, before the job that needs them."""
        self.archive = news.added_to(self.archive)

    def play(
        self,
        number: int,
        job: Job,
        indices: Indices,
        settled: Indices,
        low: int,
        seconds: float,
        deaths: Mapping[int, int],
        next_job: Job | None = None,
        share: Indices = NO_INDICES,
    ) -> Answer:
        """Takes candidates, forgets those that others have settled, and returns what is done.

        `deaths` counts, by candidate, the workers that it has killed before, on any node. Workers
        that have nothing to do begin with their share of the job that will probably come next.
        """
        (pool,) = self.pools
        if number != self.number:
            self.number = number
            pool.begin(replace(job, archive=self.archive))
        if next_job is not None:
            work = next_job, list(units_among(share, self.workers))
            pool.foresight.tell(lambda: work)
            pool.foresight.begun(None)  # it holds at once
        pool.batch.ledger.drop(settled.tolist())
        pool.batch.ledger.remember(deaths)
        try:
            done = pool.exchange(units_among(indices, self.workers), low, seconds)
        except NsesError as error:
            parcel, busy = parcel_of(job, pool.rows, [], None), float(pool.progress["busy"].sum())
            nothing = Answer(number, parcel, busy=busy, said=self.said.take())
            if isinstance(error, (Unfit, UsageError)):  # UsageError: no memory for a worker, or so
                return replace(nothing, unfit=str(error))
            return replace(nothing, fatal=str(error))
        return Answer(
            number,
            parcel_of(job, pool.rows, done.indices, done.first),
            replace(done, indices=[], first=None),
            float(pool.progress["busy"].sum()),
            self.said.take(),
        )

    def weighted_sum(
        self, offsets: NDArray[np.int64], F: NDArray[np.float64], block: range
    ) -> Floats:
        """The gradient of a block of parameters; the bits do not depend on who sums which block."""
        (pool,) = self.pools
        epsilon = Epsilon(pool.noise, offsets + block.start, len(block))
        return epsilon.weighted_sum(F, self.workers)

    def close(self) -> None:
        for pool in self.pools:
            pool.close()
