"""What a failing episode means (E1 to E3), whichever backend plays it."""

import logging
from dataclasses import replace

import numpy as np
import pytest

from batches import TABLE, archive, perturbed, plan_of
from environments import drift
from nses.execution.evaluator import Judge, TaskBroken, TooManyFailures, evaluation
from nses.execution.job import job_of, play
from nses.execution.runner import Runner

TRACE = 'Traceback:\n  File "walk.py", line 3, in step\n    fall()\n'


def returns(failed: int, n: int) -> np.ndarray:
    f = np.arange(float(n))
    f[:failed] = np.nan
    return f


def judged(f: np.ndarray, *, perturbed: bool = True, worked: bool = True, before: int = 0) -> None:
    judge = Judge()
    judge.worked = worked
    judge.check(f, perturbed, before)


def test_e1_one_failure_in_twenty_is_borne():
    judged(returns(5, 100))


def test_e1_more_than_one_failure_in_twenty_is_too_many():
    with pytest.raises(TooManyFailures, match=r"6 of 100 episodes failed \(at most 5% may\)"):
        judged(returns(6, 100))


def test_e1_failures_among_a_few_more_candidates_are_those_of_the_generation():
    judged(returns(2, 4), before=100)
    for failed, before in ((2, 30), (4, 1000)):  # too many, or all of them
        with pytest.raises(TooManyFailures):
            judged(returns(failed, 4), before=before)


def test_e1_of_a_few_unperturbed_episodes_one_may_fail_unless_it_is_the_only_one():
    judged(returns(1, 5), perturbed=False)
    for failed, n in ((2, 5), (1, 1)):
        with pytest.raises(TooManyFailures):
            judged(returns(failed, n), perturbed=False)


@pytest.mark.parametrize("perturbed", [True, False])
def test_e3_a_task_that_never_worked_is_broken(perturbed: bool):
    with pytest.raises(TaskBroken, match="NaN or infinite"):
        judged(returns(10, 10), perturbed=perturbed, worked=False)


def test_e3_a_broken_task_says_why():
    judge = Judge()
    judge.note(TRACE + "ValueError: no floor")
    with pytest.raises(TaskBroken, match="no floor"):
        judge.check(returns(4, 4), perturbed=False)


def test_e3_a_task_that_worked_once_is_not_broken():
    judge = Judge()
    judge.check(returns(0, 4), perturbed=True)
    with pytest.raises(TooManyFailures):
        judge.check(returns(4, 4), perturbed=True)


def test_e3_the_same_cause_is_logged_once(caplog: pytest.LogCaptureFixture):
    judge = Judge()
    for message in ("fell at 0.31", "fell at 0.97"):
        judge.note(TRACE + f"ValueError: {message}")
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert "fell at 0.31" in caplog.text
    judge.note(TRACE + "KeyError: 'floor'")
    judge.note(TRACE.replace("line 3", "line 4") + "ValueError: fell at 0.97")
    assert len(caplog.records) == 3


def test_moments_are_those_of_the_contributing_episodes_that_were_played():
    plan = plan_of(drift())
    job = job_of(perturbed(plan, 40), archive(9))
    rows = play(Runner(plan), job, TABLE, range(40))
    rows.f[3] = np.nan
    merged = evaluation(job, rows, Judge()).moments
    played = [i for i in range(0, 40, 3) if i != 3]
    assert merged.count == 5 * len(played)
    np.testing.assert_allclose(merged.sum, rows.observed[played, 1:4].sum(axis=0))


def test_what_is_beyond_enough_steps_does_not_count():
    plan = plan_of(drift())  # episodes of 5 steps
    candidates = replace(perturbed(plan, 40), before=60, enough=95)
    job = job_of(candidates, archive(9))
    rows = play(Runner(plan), job, TABLE, range(40))
    rows.f[24:] = np.nan  # more than one in twenty, but none that counts
    e = evaluation(job, rows, Judge())
    assert len(e.f) == len(e.N) == len(e.lengths) == 20
    assert e.moments.count == 5 * len(range(0, 20, 3))
    np.testing.assert_array_equal(e.f, rows.f[:20])
