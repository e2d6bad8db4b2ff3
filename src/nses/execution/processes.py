"""Episodes in worker processes on this machine."""

from dataclasses import replace

from nses.core.archive import Archive
from nses.core.noise import Table
from nses.core.values import Candidates, Evaluation
from nses.execution.evaluator import Judge, evaluate_in_parts
from nses.execution.job import Job, Rows, earlier, job_of
from nses.execution.ledger import units_of
from nses.execution.pool import Pool


class Processes:
    """An `Evaluate` that owns a pool of workers; close it, or use it as a context manager.

    `noise` is in memory shared with the workers. The caller fills it before the first call.
    """

    def __init__(self, pool: Pool):
        self.pool, self.judge = pool, Judge()
        self.noise: Table = pool.noise

    def __call__(self, candidates: Candidates, archive: Archive) -> Evaluation:
        """The same result as the serial evaluator's, to the bit."""
        job = job_of(candidates, archive)
        return evaluate_in_parts(job, self.pool.capacity, self._run, self.pool.plan, self.judge)

    def _run(self, job: Job) -> tuple[Rows, int]:
        """The rows, which are views of shared memory, and how many workers were replaced."""
        self.pool.begin(job)
        first, restarts, units = None, 0, units_of(len(job))
        while True:
            settled = self.pool.exchange(units)
            first, restarts = earlier(first, settled.first), restarts + settled.restarts
            self.judge.hear(settled, job, self.pool.rows)
            if not self.pool.left:
                return replace(self.pool.rows, first=first), restarts

    def close(self) -> None:
        self.pool.close()

    def __enter__(self) -> "Processes":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
