"""Episodes in worker processes on this machine."""

from collections import deque
from dataclasses import replace
from functools import cached_property
from math import inf

from nses.core.archive import Archive
from nses.core.foresight import Hint
from nses.core.noise import Epsilon, Table
from nses.core.values import Candidates, Evaluation, Floats
from nses.execution.clock import Clock
from nses.execution.evaluator import Judge, evaluate_in_parts
from nses.execution.foresight import whole
from nses.execution.job import FirstTrace, Job, Rows, earlier, job_of
from nses.execution.ledger import units_of
from nses.execution.pool import Pool
from nses.execution.serial import Serial
from nses.execution.sharing import Sharers, alone, share_of

LOOK = 1.0  # seconds between two looks at the number of runs that share the CPUs


class Processes:
    """An `Evaluate` that owns a pool of workers; close it, or use it as a context manager.

    `noise` is in memory shared with the workers. The caller fills it before the first call.

    If several runs share the CPUs, this one has only some of the pool's workers, and more of them
    when others have ended. While it has only one CPU, and all code that plays is ours, it plays in
    this process, which is faster.
    """

    def __init__(self, pool: Pool, sharers: Sharers = alone):
        self.pool, self.judge, self.sharers, self.clock = pool, Judge(), sharers, Clock()
        self.noise: Table = pool.noise

    def __call__(self, candidates: Candidates, archive: Archive) -> Evaluation:
        """The same result as the serial evaluator's, to the bit."""
        job = job_of(candidates, archive)
        self.clock.count(len(job))
        e = evaluate_in_parts(job, self.pool.capacity, self._run, self.pool.plan, self.judge)
        if not job.perturbed or job.enough is not None:
            return e
        idle = self.clock.idle(float(self.pool.progress["busy"].sum()), self.pool.count)
        return replace(e, foreseen=self.pool.batch.foreseen, idle=idle)

    def foresee(self, t: int, hint: Hint) -> None:
        """Lets workers that have nothing to do play ahead, unless others need the CPUs."""
        if self.sharers is alone and self.pool.most > 1 and not self.clock.brief:
            self.pool.foresight.tell(lambda: whole(hint()))

    @property
    def share(self) -> int:
        """The CPUs of this run, for now."""
        return share_of(self.pool.most, self.sharers())

    def _run(self, job: Job) -> tuple[Rows, int]:
        """The rows, which are views of shared memory, and how many workers were replaced."""
        self.pool.begin(job)
        units, restarts = deque(units_of(len(job))), 0
        first = self._play_here(job, units)
        while True:
            self.pool.count = self.share
            settled = self.pool.exchange(units, seconds=inf if self.sharers is alone else LOOK)
            units.clear()
            first, restarts = earlier(first, settled.first), restarts + settled.restarts
            self.judge.hear(settled, job, self.pool.rows)
            if not self.pool.left:
                return replace(self.pool.rows, first=first), restarts

    def _play_here(self, job: Job, units: deque[range]) -> FirstTrace | None:
        """Unit by unit, until other runs leave more CPUs to us."""
        first, ours = None, self.sharers is not alone and self.pool.plan.compiled
        while units and ours and self.share == 1:
            unit = units.popleft()
            played = self.here.play(job, self.noise, unit)
            self.pool.rows.write(unit, played)
            first = earlier(first, played.first)
        return first

    @cached_property
    def here(self) -> Serial:
        here = Serial(self.pool.plan, self.pool.should_stop)
        here.judge = self.judge
        return here

    def weighted_sum(self, epsilon: Epsilon, F: Floats, threads: int) -> Floats:
        """With no more threads than this run has CPUs."""
        return epsilon.weighted_sum(F, min(threads, self.share))

    def close(self) -> None:
        if "here" in vars(self):
            self.here.close()
        self.pool.close()

    def __enter__(self) -> "Processes":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
