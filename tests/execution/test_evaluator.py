"""What a failing episode means (E1 to E3), whichever backend plays it."""

import logging
import subprocess
import sys
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from batches import TABLE, archive, perturbed, plan_of, unperturbed
from environments import drift
from nses.core.values import Evaluation
from nses.execution.evaluator import (
    DONE,
    FAILED,
    Judge,
    Runner,
    TaskBroken,
    TooManyFailures,
    evaluation,
    result_fields,
)
from nses.rollouts.behaviors import Behavior

TRACE = 'Traceback:\n  File "walk.py", line 3, in step\n    fall()\n'


def returns(failed: int, n: int) -> np.ndarray:
    f = np.arange(float(n))
    f[:failed] = np.nan
    return f


def judged(f: np.ndarray, *, perturbed: bool = True, worked: bool = True) -> None:
    judge = Judge()
    judge.worked = worked
    judge.check(f, perturbed)


def test_e1_one_failure_in_twenty_is_borne():
    judged(returns(5, 100))


def test_e1_more_than_one_failure_in_twenty_is_too_many():
    with pytest.raises(TooManyFailures, match=r"6 of 100 episodes failed \(at most 5% may\)"):
        judged(returns(6, 100))


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


def run_all(n: int, indices: list[range]) -> Evaluation:
    plan = plan_of(drift())
    candidates = perturbed(plan, n)
    results = {name: np.full(shape, 7, dtype) for name, dtype, shape in result_fields(n, 3, 2)}
    runner, started = Runner(plan), []
    for unit in indices:
        assert runner.run(candidates, archive(9), unit, results, started.append) == []
    assert started == [i for unit in indices for i in unit]
    assert (results["status"] == DONE).all()
    return evaluation(candidates, results, 3, 0, Judge())


def test_the_order_and_the_size_of_units_do_not_matter():
    whole = run_all(12, [range(12)])
    parts = run_all(12, [range(8, 12), range(0, 1), range(1, 8)])
    assert whole.f.tobytes() == parts.f.tobytes()
    assert whole.N.tobytes() == parts.N.tobytes()
    assert whole.moments.sum.tobytes() == parts.moments.sum.tobytes()
    assert whole.moments.count == 4 * 5  # every third of twelve, five steps each


def test_moments_are_those_of_the_contributing_episodes_that_were_played():
    plan = plan_of(drift())
    candidates = perturbed(plan, 40)
    results = {name: np.zeros(shape, dtype) for name, dtype, shape in result_fields(40, 3, 2)}
    Runner(plan).run(candidates, archive(9), range(40), results, lambda i: None)
    results["f"][3] = np.nan
    merged = evaluation(candidates, results, 3, 0, Judge()).moments
    played = [i for i in range(0, 40, 3) if i != 3]
    assert merged.count == 5 * len(played)
    np.testing.assert_allclose(merged.sum, results["observed"][played, 1:4].sum(axis=0))


def test_mirrored_candidates_are_theta_plus_and_minus_the_same_noise():
    plan = plan_of(drift(), action_noise=0.0)
    candidates = perturbed(plan, 4)
    runner, seen = Runner(plan), []
    play = runner.player.play

    def watch(theta, *arguments, **keywords):  # type: ignore[no-untyped-def]
        seen.append(theta.copy())
        return play(theta, *arguments, **keywords)

    runner.player.play = watch  # type: ignore[method-assign]
    results = {name: np.zeros(shape, dtype) for name, dtype, shape in result_fields(4, 3, 2)}
    runner.run(candidates, archive(2), range(4), results, lambda i: None)
    assert candidates.epsilon is not None
    for pair in (0, 1):
        offset = candidates.epsilon.offsets[pair]
        epsilon = TABLE[offset : offset + plan.policy.size]
        step = np.float32(candidates.sigma) * epsilon
        np.testing.assert_array_equal(seen[2 * pair], candidates.theta + step)
        np.testing.assert_array_equal(seen[2 * pair + 1], candidates.theta - step)


@pytest.mark.parametrize(
    "behavior", [np.zeros(3), np.zeros(1), np.zeros((1, 2)), np.float64(0.5), [[0.5]]]
)
def test_m12_a_behavior_of_another_shape_fails_its_episode_only(behavior):  # type: ignore[no-untyped-def]
    plan = plan_of(drift())
    runner = Runner(plan)
    play = runner.player.play

    def reshape(theta, moments, seed, **keywords):  # type: ignore[no-untyped-def]
        episode = play(theta, moments, seed, **keywords)
        return replace(episode, behavior=behavior) if seed == 1 else episode

    player = SimpleNamespace(play=reshape, close=runner.player.close)
    runner._player = lambda: player  # type: ignore[method-assign]
    runner.player = player
    results = {name: np.zeros(shape, dtype) for name, dtype, shape in result_fields(5, 3, 2)}
    (error,) = runner.run(unperturbed(plan), archive(2), range(5), results, lambda i: None)
    assert f"'final:x,y' must have 2 numbers, shape (2,), got shape {np.shape(behavior)}" in error
    assert (results["status"] == [DONE, FAILED, DONE, DONE, DONE]).all()
    assert np.isnan(results["f"]).tolist() == [False, True, False, False, False]
    assert np.isnan(results["b"][1]).all()


def late(observation: Any, info: dict[str, Any]) -> Any:
    """Two numbers, in the episodes that end below zero one."""
    return [info["x"], info["y"]] if info["y"] > 0 else info["x"]


def test_m12_a_function_that_returns_another_size_later_fails_these_episodes():
    plan = plan_of(drift().revised(behavior=Behavior("late", late)))
    results = {name: np.zeros(shape, dtype) for name, dtype, shape in result_fields(8, 3, 2)}
    errors = Runner(plan).run(unperturbed(plan, 8), archive(2), range(8), results, lambda i: None)
    failed = results["status"] == FAILED
    assert 0 < len(errors) == failed.sum() < 8
    assert all("behavior 'late' must have 2 numbers" in error for error in errors)
    assert np.isnan(results["b"][failed]).all()
    assert (results["b"][~failed, 1] > 0).all()


COMPILED = """
import sys
sys.path[:0] = {path}
from numba.core.dispatcher import Dispatcher
import numpy as np
from batches import TABLE, archive, perturbed, plan_of, unperturbed
from nses.execution.evaluator import Runner, result_fields
from nses.rollouts.tasks.catalog import make_task

def compiled():
    modules = [m for name, m in sys.modules.items() if name.startswith("nses.")]
    functions = {{f for m in modules for f in vars(m).values() if isinstance(f, Dispatcher)}}
    return sorted((f.__name__, str(s)) for f in functions for s in f.signatures)

plan = plan_of({task}, native={native})
before = compiled()
runner = Runner(plan)
runner.warm_up()
warm = compiled()
for candidates in (perturbed(plan, 4), unperturbed(plan, 2)):
    fields = result_fields(4, plan.moments_size, plan.behavior_size)
    results = {{name: np.zeros(shape, kind) for name, kind, shape in fields}}
    runner.run(candidates, archive(5), range(len(candidates)), results, lambda i: None)
assert len(warm) > len(before)
assert compiled() == warm, set(compiled()) - set(warm)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("task", "native"),
    [("point-trap", True), ("point-trap", False), ("swimmer-trap", True), ("CartPole-v1", False)],
)
def test_m15_a_runner_that_is_warm_compiles_nothing_more(task: str, native: bool):
    behavior = "'final-observation:0,1'" if task == "CartPole-v1" else None
    make = f"make_task({task!r}, {behavior}, max_steps=3)"
    code = COMPILED.format(path=sys.path, task=make, native=native)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
