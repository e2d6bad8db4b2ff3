"""All episodes in this process, one after the other."""

from collections.abc import Callable

import numpy as np

from nses.core.archive import Archive
from nses.core.values import Candidates, Evaluation
from nses.execution.evaluator import First, Judge, Plan, Runner, evaluation, result_fields
from nses.rollouts.episode import GymnasiumPlayer, Interrupted, never
from nses.rollouts.foreign import generators_kept

UNIT = 16


class Serial:
    """An `Evaluate` that owns one simulator.

    `should_stop` is asked before every episode, and from time to time in a long one.
    """

    def __init__(self, plan: Plan, should_stop: Callable[[], bool] = never):
        self.plan, self.should_stop = plan, should_stop
        self.runner, self.judge = Runner(plan, should_stop), Judge()

    def __call__(self, candidates: Candidates, archive: Archive) -> Evaluation:
        if isinstance(self.runner.player, GymnasiumPlayer):  # whose environment may use them
            with generators_kept():
                return self._evaluate(candidates, archive)
        return self._evaluate(candidates, archive)

    def _evaluate(self, candidates: Candidates, archive: Archive) -> Evaluation:
        n, plan = len(candidates), self.plan
        results = {
            name: np.zeros(shape, dtype)
            for name, dtype, shape in result_fields(n, plan.moments_size, plan.behavior_size)
        }
        first: First = {}
        for start in range(0, n, UNIT):
            unit = range(start, min(n, start + UNIT))
            errors = self.runner.run(candidates, archive, unit, results, self._starting, first)
            for error in errors:
                self.judge.note(error)
        return evaluation(candidates, results, plan.moments_size, 0, self.judge, first)

    def _starting(self, index: int) -> None:
        if self.should_stop():
            raise Interrupted

    def close(self) -> None:
        self.runner.close()

    def __enter__(self) -> "Serial":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
