"""All episodes in this process, one after the other."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from nses.core.archive import Archive
from nses.core.noise import Table
from nses.core.values import Candidates, Evaluation
from nses.execution.evaluator import Judge, evaluation
from nses.execution.job import Job, Rows, empty_rows, job_of, play
from nses.execution.runner import Plan, Runner
from nses.rollouts.episode import GymnasiumPlayer, Interrupted, never
from nses.rollouts.foreign import generators_kept

UNIT = 16


class Serial:
    """An `Evaluate` that owns one simulator.

    `should_stop` is called before every episode and now and then in a long one. The caller fills
    `noise` and draws candidates from it.
    """

    def __init__(self, plan: Plan, should_stop: Callable[[], bool] = never, noise_size: int = 0):
        self.plan, self.should_stop = plan, should_stop
        self.noise: Table = np.empty(noise_size, np.float32)
        self.runner, self.judge = Runner(plan, should_stop), Judge()

    def __call__(self, candidates: Candidates, archive: Archive) -> Evaluation:
        self.runner.player_of(candidates.variation)
        # Python's environments may draw from the global generators.
        if any(isinstance(one, GymnasiumPlayer) for one in self.runner.players):
            with generators_kept():
                return self._evaluate(candidates, archive)
        return self._evaluate(candidates, archive)

    def _evaluate(self, candidates: Candidates, archive: Archive) -> Evaluation:
        job, n = job_of(candidates, archive), len(candidates)
        noise = None if candidates.epsilon is None else candidates.epsilon.table
        rows, first = empty_rows(n, self.plan), None
        for start in range(0, n, UNIT):
            unit = range(start, min(n, start + UNIT))
            played = self.play(job, noise, unit)
            rows.write(unit, played)
            first = first or played.first
        return evaluation(job, replace(rows, first=first), self.judge)

    def play(self, job: Job, noise: Table | None, unit: range) -> Rows:
        """Some candidates of a job."""
        played = play(self.runner, job, noise, unit, self._starting)
        for error in played.errors:
            self.judge.note(error)
        return played

    def _starting(self, index: int) -> None:
        if self.should_stop():
            raise Interrupted

    def close(self) -> None:
        self.runner.close()

    def __enter__(self) -> "Serial":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
