"""Episodes in this process: what the other backends are compared with."""

import logging
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from batches import (
    archive,
    assert_same,
    perturbed,
    plan_of,
    processes,
    serially,
    unperturbed,
)
from environments import (
    BadEnding,
    Fault,
    complain,
    complain_unsendably,
    drift,
    faulty,
    leave,
    panic,
    pay_infinity,
    pay_nan,
    show_nan,
)
from nses.core.archive import Archive
from nses.core.values import Candidates, Evaluation
from nses.errors import TaskBroken, TooManyFailures
from nses.execution.runner import Plan
from nses.execution.serial import Serial
from nses.rollouts.episode import Interrupted

A = archive(20)
HEALTHY = plan_of(drift())


def in_a_process(plan: Plan, candidates: Candidates, archive: Archive) -> Evaluation:
    with processes(plan, workers=1) as evaluate:
        return evaluate(candidates, archive)


def test_an_evaluation_is_a_function_of_its_arguments():
    with Serial(HEALTHY) as evaluate:
        once = evaluate(perturbed(HEALTHY), A)
        evaluate(unperturbed(HEALTHY), A)
        again = evaluate(perturbed(HEALTHY), A)
    assert_same(once, again)
    assert_same(once, serially(HEALTHY, perturbed(HEALTHY), A))


def test_behaviors_come_back_for_unperturbed_episodes_only():
    e = serially(HEALTHY, unperturbed(HEALTHY), A)
    assert e.b is not None
    assert e.b.shape == (5, 2)
    assert not e.N.any()  # nobody ranks them
    e = serially(HEALTHY, perturbed(HEALTHY), A)
    assert e.b is None
    assert (e.N > 0).all()


@pytest.mark.parametrize("fault", [pay_nan, pay_infinity, show_nan])
def test_e1_a_return_that_is_not_finite_fails_its_candidate_only(fault):  # type: ignore[no-untyped-def]
    plan = plan_of(faulty(fault, {7}))
    e = serially(plan, perturbed(plan), A)
    assert np.isnan(e.f).nonzero()[0].tolist() == [7]
    assert_same(e, serially(HEALTHY, perturbed(HEALTHY), A), but=(7,))


def test_e1_a_failed_candidate_does_not_contribute_to_the_moments():
    plan = plan_of(faulty(show_nan, {6}))
    healthy = perturbed(HEALTHY)
    assert healthy.contributes is not None
    assert healthy.contributes[6]
    e = serially(plan, perturbed(plan), A)
    assert np.isfinite(e.moments.sum).all()
    assert e.moments.count == 5 * (healthy.contributes.sum() - 1)


@pytest.mark.parametrize("fault", [pay_nan, complain])
def test_e1_more_than_one_in_twenty_is_too_many(fault):  # type: ignore[no-untyped-def]
    plan = plan_of(faulty(fault, {7, 8}))
    with pytest.raises(TooManyFailures, match="2 of 32"):
        serially(plan, perturbed(plan), A)


def test_e3_an_environment_that_raises_once_is_rebuilt_and_plays_the_same_episode(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    plan = plan_of(faulty(complain, range(32), tmp_path))
    e = serially(plan, perturbed(plan), A)
    assert len(list(tmp_path.iterdir())) == 32
    assert_same(e, serially(HEALTHY, perturbed(HEALTHY), A))
    assert not caplog.records


def test_e3_an_environment_that_always_raises_fails_its_candidate_only(
    caplog: pytest.LogCaptureFixture,
):
    plan = plan_of(faulty(complain, {7, 8}))
    e = serially(plan, perturbed(plan, 64), A)
    assert np.isnan(e.f).nonzero()[0].tolist() == [7, 8]
    assert e.lengths[7] == 0
    assert_same(e, serially(HEALTHY, perturbed(HEALTHY, 64), A), but=(7, 8))
    (record,) = caplog.records  # the cause is the same, though the message is not
    assert record.levelno == logging.WARNING
    assert "RuntimeError: the simulator is upset about 7" in caplog.text
    assert "in complain" in caplog.text


@pytest.mark.parametrize("backend", [serially, in_a_process])
@pytest.mark.parametrize("fault", [leave, panic])
def test_m5_an_environment_that_would_end_the_program_fails_its_candidate_only(
    fault: Fault, backend: Callable[..., Evaluation], caplog: pytest.LogCaptureFixture
):
    plan = plan_of(faulty(fault, {7}))
    e = backend(plan, perturbed(plan), A)
    assert np.isnan(e.f).nonzero()[0].tolist() == [7]
    assert e.restarts == 0
    assert_same(e, serially(HEALTHY, perturbed(HEALTHY), A), but=(7,))
    (record,) = caplog.records
    assert re.search("(?s)in (leave|panic).*(SystemExit: 7|Panic: index)", record.getMessage())


def test_e3_when_everything_fails_at_first_the_task_is_broken():
    plan = plan_of(faulty(complain_unsendably, range(32)))
    with pytest.raises(TaskBroken, match=r"(?s)in complain_unsendably.*Unsendable: the answer is"):
        serially(plan, unperturbed(plan), A)


def test_e3_an_environment_that_fails_to_close_is_replaced_all_the_same(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    make = partial(BadEnding, complain, {7}, tmp_path)
    with Serial(HEALTHY) as evaluate:
        evaluate.runner.player.environment = make()  # type: ignore[attr-defined]
        e = evaluate(perturbed(HEALTHY), A)
    assert_same(e, serially(HEALTHY, perturbed(HEALTHY), A))
    assert "OSError: the window is stuck" in caplog.text


def test_the_user_is_asked_before_every_episode():
    asked: list[bool] = []

    def third() -> bool:
        asked.append(True)
        return len(asked) == 3

    with Serial(HEALTHY, third) as evaluate:
        with pytest.raises(Interrupted):
            evaluate(perturbed(HEALTHY), A)
        assert len(asked) == 3
        assert_same(evaluate(perturbed(HEALTHY), A), serially(HEALTHY, perturbed(HEALTHY), A))
