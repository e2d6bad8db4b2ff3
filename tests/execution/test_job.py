"""Jobs and what came of them, played in one simulator."""

import pickle
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from batches import TABLE, archive, perturbed, plan_of, unperturbed
from environments import drift
from nses.core.values import Evaluation
from nses.execution.evaluator import Judge, evaluation
from nses.execution.job import (
    COLUMNS,
    DONE,
    FAILED,
    empty_rows,
    job_of,
    memory_fields,
    play,
    publish,
    published,
)
from nses.execution.runner import Runner
from nses.rollouts.behaviors import Behavior


def run_all(n: int, indices: list[range]) -> Evaluation:
    plan = plan_of(drift())
    job = job_of(perturbed(plan, n), archive(9))
    rows, runner = empty_rows(n, plan), Runner(plan)
    started: list[int] = []
    for unit in indices:
        played = play(runner, job, TABLE, unit, started.append)
        assert (played.errors, len(played.f)) == ((), len(unit))
        rows.write(unit, played)
    assert started == [i for unit in indices for i in unit]
    assert (rows.status == DONE).all()
    return evaluation(job, rows, Judge())


def test_the_order_and_the_size_of_units_do_not_matter():
    whole = run_all(12, [range(12)])
    parts = run_all(12, [range(8, 12), range(0, 1), range(1, 8)])
    assert whole.f.tobytes() == parts.f.tobytes()
    assert whole.N.tobytes() == parts.N.tobytes()
    assert whole.moments.sum.tobytes() == parts.moments.sum.tobytes()
    assert whole.moments.count == 4 * 5  # every third of twelve, five steps each


def test_mirrored_candidates_are_theta_plus_and_minus_the_same_noise():
    plan = plan_of(drift(), action_noise=0.0)
    candidates = perturbed(plan, 4)
    runner, seen = Runner(plan), []
    played = runner.player.play

    def watch(theta, *arguments, **keywords):  # type: ignore[no-untyped-def]
        seen.append(theta.copy())
        return played(theta, *arguments, **keywords)

    runner.player.play = watch  # type: ignore[method-assign]
    play(runner, job_of(candidates, archive(2)), TABLE, range(4))
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
    played = runner.player.play

    def reshape(theta, moments, seed, **keywords):  # type: ignore[no-untyped-def]
        episode = played(theta, moments, seed, **keywords)
        return replace(episode, behavior=behavior) if seed == 1 else episode

    player = SimpleNamespace(play=reshape, close=runner.player.close)
    runner._player = lambda: player  # type: ignore[method-assign]
    runner.player = player
    rows = play(runner, job_of(unperturbed(plan), archive(2)), None, range(5))
    (error,) = rows.errors
    assert f"'final:x,y' must have 2 numbers, shape (2,), got shape {np.shape(behavior)}" in error
    assert (rows.status == [DONE, FAILED, DONE, DONE, DONE]).all()
    assert np.isnan(rows.f).tolist() == [False, True, False, False, False]
    assert np.isnan(rows.b[1]).all()


def nowhere(observation: Any, info: dict[str, Any]) -> Any:
    """Not a number in the episodes that end below zero."""
    return [info["x"], info["y"] if info["y"] > 0 else np.nan]


@pytest.mark.parametrize("job", [perturbed, unperturbed])
def test_a_behavior_that_is_not_finite_fails_an_episode_only_where_behaviors_count(job):
    plan = plan_of(drift().revised(behavior=Behavior("nowhere", nowhere)))
    played = [
        play(Runner(p), job_of(job(p, 8), archive(0)), TABLE, range(8))
        for p in (plan, replace(plan, finite_behaviors=False))
    ]
    nan = np.isnan(played[1].b).any(axis=1)
    assert 0 < nan.sum() < 8
    assert np.isnan(played[0].f).tolist() == nan.tolist()
    assert np.isfinite(played[1].f).all()
    assert (played[1].status == DONE).all()


def test_a_job_survives_its_way_through_memory():
    plan = plan_of(drift())
    fields = memory_fields(plan.policy.size, 64, plan.moments_size, plan.behavior_size)
    memory = {name: np.full(shape, 7, dtype) for name, dtype, shape in fields}
    for candidates in (perturbed(plan, 40), unperturbed(plan)):
        job, noise = job_of(candidates, archive(9)), TABLE
        publish(job, memory)
        again = published(memory, archive(9))
        assert (len(again), again.perturbed, again.whole) == (len(job), job.perturbed, job.whole)
        expected = play(Runner(plan), job, noise, range(len(job)))
        arrived = play(Runner(plan), again, noise, range(len(job)))
        for name in COLUMNS:
            assert getattr(arrived, name).tobytes() == getattr(expected, name).tobytes(), name


def test_a_part_of_a_job_plays_what_the_whole_plays_there():
    plan = plan_of(drift())
    job = job_of(perturbed(plan, 12), archive(9))
    whole = play(Runner(plan), job, TABLE, range(4, 10))
    part = job.part(range(4, 10))
    assert (len(part), part.whole) == (6, 12)
    rows = play(Runner(plan), part, TABLE, range(6))
    for name in COLUMNS:
        assert getattr(rows, name).tobytes() == getattr(whole, name).tobytes(), name


def test_a_job_does_not_carry_its_noise():
    plan = plan_of(drift())
    few, many = (len(pickle.dumps(job_of(perturbed(plan, n), archive(9)))) for n in (2, 40))
    assert many < TABLE.nbytes / 4
    assert many - few < 38 * 32


def late(observation: Any, info: dict[str, Any]) -> Any:
    """Two numbers, in the episodes that end below zero one."""
    return [info["x"], info["y"]] if info["y"] > 0 else info["x"]


def test_m12_a_function_that_returns_another_size_later_fails_these_episodes():
    plan = plan_of(drift().revised(behavior=Behavior("late", late)))
    rows = play(Runner(plan), job_of(unperturbed(plan, 8), archive(2)), None, range(8))
    failed = rows.status == FAILED
    assert 0 < len(rows.errors) == failed.sum() < 8
    assert all("behavior 'late' must have 2 numbers" in error for error in rows.errors)
    assert np.isnan(rows.b[failed]).all()
    assert (rows.b[~failed, 1] > 0).all()
