"""Turns rows into one Evaluation, and decides whether too many of them failed."""

import logging
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from nses.core import moments
from nses.core.budget import cut
from nses.core.values import Evaluation
from nses.errors import TaskBroken, TooManyFailures
from nses.execution.batch import Settled
from nses.execution.job import FAILED, Job, Rows, empty_rows
from nses.execution.runner import Plan

log = logging.getLogger("nses")

MOST_FAILURES = 0.05  # fraction of the candidates of a generation


class Judge:
    """Decides what failures mean; remembers what was logged and whether anything ever worked."""

    def __init__(self) -> None:
        self.causes: set[str] = set()
        self.worked = False
        self.last_error = ""

    def note(self, error: str) -> None:
        """Logs one traceback per cause: where and what was raised, whatever its message."""
        self.last_error = error
        *where, what = error.strip().splitlines()
        cause = "\n".join([*where, what.partition(":")[0]])
        if cause not in self.causes:
            self.causes.add(cause)
            log.warning("an episode failed twice and is skipped:\n%s", error.rstrip())

    def hear(self, settled: Settled, job: Job, rows: Rows) -> None:
        """Takes in what a pool reports about an unfinished job; `rows` are the results so far."""
        for error in settled.errors:
            self.note(error)
        for error in settled.broken:
            if not self.worked:
                raise TaskBroken(f"a worker could not set up the task: {error}")
            log.warning("a worker could not set up the task:\n%s", error)
        if settled.killers and job.perturbed:
            self.bear(int((rows.status == FAILED).sum()), job.whole)

    def check(self, f: NDArray[np.float64], perturbed: bool, before: int = 0) -> None:
        """Checks that a generation can go on with these returns, after `before` others."""
        failed = int(np.isnan(f).sum())
        if failed == len(f) and not self.worked:
            why = self.last_error.rstrip() or "every return or observation was NaN or infinite."
            raise TaskBroken(f"no episode of the task could be played: {why}")
        self.worked = True
        if perturbed or failed > 1 or failed == len(f):  # one of a few unperturbed ones may fail
            self.bear(failed, len(f) if failed == len(f) else before + len(f))

    def bear(self, failed: int, n: int) -> None:
        """TooManyFailures if more failed than a generation can spare."""
        if failed > MOST_FAILURES * n:
            raise TooManyFailures(
                f"{failed} of {n} episodes failed (at most {MOST_FAILURES:.0%} may); "
                f"last cause: {(self.last_error.strip().splitlines() or ['not finite'])[-1]}"
            )


def evaluation(job: Job, rows: Rows, judge: Judge, restarts: int = 0) -> Evaluation:
    """One value from the rows of all candidates that count; moments are merged in their order."""
    if job.enough is not None:
        rows = rows.views(range(cut(rows.lengths, job.enough)))
    f = rows.f.copy()
    judge.check(f, job.perturbed, before=job.whole - len(job))
    merged = moments.nothing(rows.observed.shape[1] // 2)
    for i in np.flatnonzero(job.contributes[: len(f)] & ~np.isnan(f)):
        merged = merged.merge(moments.of_row(rows.observed[i]))
    b = rows.b.copy() if rows.first is None else rows.first[1]
    return Evaluation(
        f=f,
        N=rows.N.copy(),
        lengths=rows.lengths.copy(),
        moments=merged,
        b=None if job.perturbed else b,
        blown_up=int(rows.blown_up.sum()),
        restarts=restarts,
    )


def evaluate_in_parts(
    job: Job, capacity: int, run: Callable[[Job], tuple[Rows, int]], plan: Plan, judge: Judge
) -> Evaluation:
    """Runs a job that may not fit in one call; `run` returns its rows and counts restarts."""
    if len(job) <= capacity:
        rows, restarts = run(job)
        return evaluation(job, rows, judge, restarts)
    whole, first, lost = empty_rows(len(job), plan), None, 0
    for start in range(0, len(job), capacity):
        part = range(start, min(len(job), start + capacity))
        rows, restarts = run(job.part(part))
        whole.write(part, rows)
        first, lost = first or rows.first, lost + restarts
    return evaluation(job, replace(whole, first=first), judge, lost)
