"""Candidates to episodes to one Evaluation, in the order of the candidates, wherever played."""

import logging
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nses.core import moments
from nses.core.archive import Archive, archive_of
from nses.core.moments import Moments
from nses.core.noise import perturb
from nses.core.novelty import novelty
from nses.core.traces import Trace, as_trace
from nses.core.values import Candidates, Evaluation
from nses.errors import TaskBroken, TooManyFailures, UsageError
from nses.execution.shared import Field
from nses.rollouts.episode import Episode, Player, WarmsUp, never, player
from nses.rollouts.foreign import errors_only
from nses.rollouts.policies import Policy, check_theta
from nses.rollouts.tasks.task import Task

log = logging.getLogger("nses")

OPEN, DONE, FAILED = 0, 1, 2  # states of a candidate
MOST_FAILURES = 0.05  # share of the candidates of a generation


@dataclass(frozen=True, eq=False)
class Plan:
    """How episodes are played: what a worker needs to know once."""

    task: Task
    policy: Policy
    k: int
    distance: str = "squared-euclidean"
    action_noise: float = 0.0
    native: bool = True

    @property
    def traces(self) -> bool:
        """Whether behaviors are traces, which have no common length: no place in the results."""
        return self.task.behavior.summary == "trace"

    @property
    def behavior_size(self) -> int:
        return 0 if self.traces else self.task.behavior_size

    @property
    def moments_size(self) -> int:
        return self.policy.moments_size


def check_behavior(plan: Plan, b: Any) -> None:
    """UsageError unless a behavior has the shape of the task's: NumPy would repeat one to fit."""
    name, size = plan.task.behavior.name, plan.behavior_size
    if plan.traces:
        as_trace(b)
    elif np.shape(b) != (size,):
        raise UsageError(
            f"behavior {name!r} must have {size} numbers, shape ({size},), got shape {np.shape(b)};"
            " return as many in every episode."
        )


def result_fields(n: int, moments_size: int, behavior_size: int) -> list[Field]:
    """One row per candidate; `observed` holds count, sums and sums of squares."""
    return [
        ("f", "f8", (n,)),
        ("N", "f8", (n,)),
        ("lengths", "i8", (n,)),
        ("status", "u1", (n,)),
        ("blown_up", "u1", (n,)),
        ("b", "f8", (n, behavior_size)),
        ("observed", "f8", (n, 1 + 2 * moments_size)),
    ]


Results = dict[str, NDArray[Any]]
First = dict[int, Trace]  # the trace of the first candidate to have one, by its index; or nothing


class Runner:
    """Plays candidates one after the other in one simulator; every backend is made of these."""

    def __init__(self, plan: Plan, should_stop: Callable[[], bool] = never):
        self.plan, self.should_stop = plan, should_stop
        self.theta = np.empty(plan.policy.size, np.float32)
        self.failed_to_close = False
        self.player = self._player()

    def _player(self) -> Player:
        plan = self.plan
        with errors_only():
            return player(plan.task, plan.policy, native=plan.native, should_stop=self.should_stop)

    def warm_up(self) -> None:
        """Compiles what an episode needs, so that no deadline runs meanwhile."""
        if isinstance(self.player, WarmsUp):
            self.player.warm_up()
        theta = np.zeros_like(self.theta)
        perturb(theta, 0.0, theta, self.theta)
        if self.plan.traces:
            trace = np.zeros((1, 1), np.uint8)
            self._novelty(trace, archive_of([trace]))
        else:
            b = np.zeros((1, self.plan.behavior_size))
            self._novelty(b, archive_of(b))

    def run(
        self,
        candidates: Candidates,
        A: Archive,
        indices: range,
        results: Results,
        starting: Callable[[int], None],
        first: First | None = None,
    ) -> list[str]:
        """Fills the rows of these candidates; returns the tracebacks of those that failed.

        `starting` is told each index before its episode. `first`, where it is asked for and empty,
        receives the first trace of an unperturbed candidate with a finite return.
        """
        check_theta(candidates.theta, self.theta.size)
        errors = []
        for i in indices:
            starting(i)
            try:
                episode = self._play(candidates, i)
                results["f"][i], results["lengths"][i] = episode.f, episode.length
                results["blown_up"][i] = episode.blown_up
                if not self.plan.traces:
                    results["b"][i] = episode.behavior
                elif np.isfinite(episode.f):  # large, so each is looked at now, and hardly any kept
                    results["N"][i] = self._novelty(episode.behavior, A)
                    if candidates.epsilon is None and first is not None and not first:
                        first[i] = np.array(episode.behavior, np.uint8)
                if episode.observed is not None:
                    o = episode.observed
                    results["observed"][i] = np.concatenate([[o.count], o.sum, o.square])
            except MemoryError:
                raise
            except Exception:
                errors.append(traceback.format_exc())
                results["f"][i], results["lengths"][i] = np.nan, 0
                results["b"][i], results["blown_up"][i] = np.nan, False
        rows = slice(indices.start, indices.stop)
        b = results["b"][rows]
        known = np.isfinite(results["f"][rows]) & np.isfinite(b).all(axis=1)
        results["f"][rows][~known] = np.nan
        results["N"][rows][~known] = 0.0
        if not self.plan.traces:
            results["N"][rows][known] = self._novelty(b[known], A)
        results["status"][rows] = np.where(known, DONE, FAILED)
        return errors

    def _novelty(self, b: Any, A: Archive) -> Any:
        return novelty(b, A, self.plan.k, self.plan.distance)

    def _play(self, candidates: Candidates, i: int) -> Episode:
        """One episode; if the environment raises, once more with the same seed in a new one."""
        theta, noise = candidates.theta, 0.0
        if candidates.epsilon is not None:
            sign, noise = 1 - 2 * (i % 2), self.plan.action_noise
            perturb(theta, sign * candidates.sigma, candidates.epsilon.row(i // 2), self.theta)
            theta = self.theta
        contributes = (
            self.plan.moments_size > 0
            and candidates.contributes is not None
            and bool(candidates.contributes[i])
        )
        for attempt in (1, 2):
            try:
                with errors_only():
                    episode = self.player.play(
                        theta,
                        candidates.moments,
                        int(candidates.seeds[i]),
                        action_noise=noise,
                        contributes=contributes,
                    )
                check_behavior(self.plan, episode.behavior)
                return episode
            except MemoryError:
                raise
            except Exception:
                if attempt == 2:
                    raise
                self.close()
                self.player = self._player()
        raise AssertionError

    def close(self, say: bool = True) -> None:
        """An environment that fails here has done its work, which is said once."""
        try:
            with errors_only():
                self.player.close()
        except Exception:
            if say and not self.failed_to_close:
                log.warning("an environment failed to close:\n%s", traceback.format_exc().rstrip())
            self.failed_to_close = True


class Judge:
    """Decides what failures mean; remembers what was logged and whether anything ever worked."""

    def __init__(self) -> None:
        self.causes: set[str] = set()
        self.worked = False
        self.last_error = ""

    def note(self, error: str) -> None:
        """A traceback, logged once per cause: where and what was raised, whatever its message."""
        self.last_error = error
        *where, what = error.strip().splitlines()
        cause = "\n".join([*where, what.partition(":")[0]])
        if cause not in self.causes:
            self.causes.add(cause)
            log.warning("an episode failed twice and is left out:\n%s", error.rstrip())

    def check(self, f: NDArray[np.float64], perturbed: bool) -> None:
        failed = int(np.isnan(f).sum())
        if failed == len(f) and not self.worked:
            why = self.last_error.rstrip() or "every return or observation was NaN or infinite."
            raise TaskBroken(f"no episode of the task could be played: {why}")
        self.worked = True
        if perturbed or failed > 1 or failed == len(f):  # of a few unperturbed ones, one may fail
            self.bear(failed, len(f))

    def bear(self, failed: int, n: int) -> None:
        """TooManyFailures, unless a generation can do without so many."""
        if failed > MOST_FAILURES * n:
            raise TooManyFailures(
                f"{failed} of {n} episodes failed (at most {MOST_FAILURES:.0%} may); "
                f"last cause: {(self.last_error.strip().splitlines() or ['not finite'])[-1]}"
            )


def evaluation(
    candidates: Candidates,
    results: Results,
    moments_size: int,
    restarts: int,
    judge: Judge,
    first: First | None = None,
) -> Evaluation:
    """The rows of all candidates as one value; moments are merged in their order."""
    n = len(candidates)
    perturbed = candidates.epsilon is not None
    f = results["f"][:n].copy()
    judge.check(f, perturbed)
    merged = moments.nothing(moments_size)
    if candidates.contributes is not None:
        for i in np.flatnonzero(candidates.contributes & ~np.isnan(f)):
            row = results["observed"][i]
            merged = merged.merge(
                Moments(row[0], row[1 : 1 + moments_size], row[1 + moments_size :])
            )
    return Evaluation(
        f=f,
        N=results["N"][:n].copy(),
        lengths=results["lengths"][:n].copy(),
        moments=merged,
        b=None if perturbed else next(iter((first or {}).values()), results["b"][:n].copy()),
        blown_up=int(results["blown_up"][:n].sum()),
        restarts=restarts,
    )
