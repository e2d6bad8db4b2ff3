"""Behaviors that are traces: novelty is found where they are played, and only one travels."""

import os
import signal
import time
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import psutil
import pytest

from batches import (
    TABLE,
    assert_same,
    perturbed,
    plan_of,
    processes,
    serially,
    unperturbed,
)
from environments import drift, hold, pay_nan, vanish
from nses.core.novelty import novelty
from nses.execution.evaluator import Judge, evaluation
from nses.execution.job import DONE, earlier, job_of, play
from nses.execution.runner import Plan, Runner
from nses.rollouts.policies.mlp import MLP
from traced import trace_archive, trace_of, traced_plan

A = trace_archive(12)
HEALTHY = traced_plan()


def test_the_first_trace_of_unperturbed_episodes_comes_back_and_novelty_is_not_measured():
    e = serially(HEALTHY, unperturbed(HEALTHY), A)
    traces = [trace_of(seed, HEALTHY) for seed in range(5)]
    assert len({len(trace) for trace in traces}) > 2  # E15: of different lengths
    assert not e.N.any()
    np.testing.assert_array_equal(e.b, traces[0])
    assert e.b is not None
    assert e.b.dtype == np.uint8
    assert e.lengths.tolist() == [len(trace) for trace in traces]


def test_traces_of_perturbed_episodes_are_looked_at_and_dropped():
    n, plan, runner = 8, HEALTHY, Runner(HEALTHY)
    job, seen = job_of(perturbed(plan, n), A), []
    played = runner.player.play

    def watch(*arguments, **keywords):  # type: ignore[no-untyped-def]
        episode = played(*arguments, **keywords)
        seen.append(episode.behavior)
        return episode

    runner.player = SimpleNamespace(play=watch, close=runner.player.close)  # type: ignore[assignment]
    rows = play(runner, job, TABLE, range(n))
    np.testing.assert_array_equal(rows.N, novelty(seen, A, plan.k, "ram"))
    assert (rows.errors, rows.first) == ((), None)
    assert rows.b.shape == (n, 0)
    e = evaluation(job, rows, Judge())
    assert e.b is None
    assert (e.N > 0).all()


def test_e1_the_trace_is_that_of_the_first_episode_with_a_finite_return():
    plan = traced_plan(pay_nan, {0})
    e = serially(plan, unperturbed(plan), A)
    assert np.isnan(e.f).tolist() == [True, False, False, False, False]
    assert e.N[0] == 0
    np.testing.assert_array_equal(e.b, trace_of(1, HEALTHY))
    with processes(plan) as evaluate:
        assert_same(evaluate(unperturbed(plan), A), e)


def test_a_trace_that_is_none_fails_its_episode_only():
    runner = Runner(HEALTHY)
    played = runner.player.play

    def forget(theta, moments, seed, **keywords):  # type: ignore[no-untyped-def]
        episode = played(theta, moments, seed, **keywords)
        return replace(episode, behavior=episode.behavior[:0]) if seed == 0 else episode

    runner.player = SimpleNamespace(play=forget, close=runner.player.close)
    runner._open = lambda: None  # type: ignore[method-assign]  (when it tries again)
    rows = play(runner, job_of(unperturbed(HEALTHY), A), None, range(5))
    (error,) = rows.errors
    assert "a trace must be a uint8 array" in error
    assert np.isnan(rows.f).tolist() == [True, False, False, False, False]
    assert rows.first is not None
    assert rows.first[0] == 1


@pytest.mark.parametrize("workers", [1, 2, pytest.param(3, marks=pytest.mark.slow)])
def test_any_number_of_workers_gives_the_traces_of_the_serial_evaluator(workers: int):
    with processes(HEALTHY, workers) as evaluate:
        for candidates in (perturbed(HEALTHY, 50), unperturbed(HEALTHY, 30)):
            assert_same(evaluate(candidates, A), serially(HEALTHY, candidates, A))


@pytest.mark.slow
def test_parts_of_more_candidates_than_there_is_room_for_have_one_first_trace():
    plan = traced_plan(pay_nan, {0})
    candidates = unperturbed(plan, 131)
    with processes(plan, capacity=64) as evaluate:
        assert_same(evaluate(candidates, A), serially(plan, candidates, A))


def test_workers_follow_an_archive_of_traces_that_grows_is_exchanged_and_comes_back():
    candidates = perturbed(HEALTHY, 8)
    small = trace_archive(3)
    more = trace_archive(6).traces[3:]
    grown = small.append(more[0]).append(more[1])
    fork = small.append(more[2])
    with processes(HEALTHY) as evaluate:
        for archive in (small, grown, grown, fork, trace_archive(0), small, fork.append(more)):
            assert_same(evaluate(candidates, archive), serially(HEALTHY, candidates, archive))


def test_of_the_traces_that_come_in_any_order_the_first_is_kept():
    first = None
    for i in (14, 22, 3, 0, 8):
        first = earlier(earlier(first, None), (i, trace_of(i, HEALTHY)))
    assert first is not None
    index, trace = first
    assert index == 0
    np.testing.assert_array_equal(trace, trace_of(0, HEALTHY))


def test_workers_are_told_of_new_traces_only(monkeypatch: pytest.MonkeyPatch):
    with processes(HEALTHY, workers=1) as evaluate:
        evaluate(perturbed(HEALTHY, 4), A)
        (worker,) = evaluate.pool.workers
        sent = []
        send = worker.connection.send
        monkeypatch.setattr(worker.connection, "send", lambda x: (sent.append(x), send(x)))
        evaluate(perturbed(HEALTHY, 4), A.append(A.traces[0][:5]))
    told = [content[0] for kind, *content in sent if kind == "archive"]
    assert [(news.start, len(news.entries)) for news in told] == [(12, 5)]


def test_p1_workers_killed_while_they_play_change_no_trace(tmp_path: Path):
    gate, killed = tmp_path / "gate", []
    plan = traced_plan(partial(hold, gate), range(1000))

    def kill() -> bool:
        playing = [
            w for w in evaluate.pool.workers if evaluate.pool.progress["current"][w.slot] >= 0
        ]
        if len(killed) == 2:
            gate.touch()
        elif playing and playing[0].process.pid not in killed:
            killed.append(playing[0].process.pid)
            os.kill(killed[-1], signal.SIGKILL)
        return False

    with processes(plan, should_stop=kill) as evaluate:
        e = evaluate(unperturbed(plan, 30), A)
    assert_same(e, serially(HEALTHY, unperturbed(HEALTHY, 30), A))
    assert e.restarts == len(killed) == 2


@pytest.mark.slow
def test_p1_a_worker_killed_between_its_last_step_and_its_message_changes_no_trace(
    tmp_path: Path,
):
    """Its results are there, but the trace was on its way."""
    gate = tmp_path / "gate"
    # More bytes than a socket takes at once, so the message waits for us.
    plan = traced_plan(partial(hold, gate), {0}, width=1 << 15)
    wide = trace_archive(3, width=1 << 15)
    killed = []

    def kill() -> bool:
        if not killed and any(evaluate.pool.progress["current"] == 0):
            gate.touch()
            while evaluate.pool.rows.status[0] != DONE:
                time.sleep(0.01)
            killed.append(evaluate.pool.workers[0].process.pid)
            os.kill(killed[0], signal.SIGKILL)
        return False

    candidates = unperturbed(plan, 4)
    with processes(plan, workers=1, should_stop=kill) as evaluate:
        e = evaluate(candidates, wide)
    assert len(killed) == e.restarts == 1
    assert_same(e, serially(plan, candidates, wide))
    assert e.b is not None
    np.testing.assert_array_equal(e.b, trace_of(0, plan))


@pytest.mark.slow
def test_p2_when_the_first_episode_kills_every_worker_the_second_trace_counts():
    plan = traced_plan(vanish, {0})
    with processes(plan) as evaluate:
        e = evaluate(unperturbed(plan), A)
    assert np.isnan(e.f).tolist() == [True, False, False, False, False]
    np.testing.assert_array_equal(e.b, trace_of(1, HEALTHY))


@pytest.mark.slow
def test_e16_long_traces_and_many_workers_do_not_block_each_other():
    """Everybody sends megabytes at once, in both directions, again and again."""
    plan = traced_plan(width=1 << 16)
    candidates, large = unperturbed(plan, 24), trace_archive(8, width=1 << 16)
    expected = serially(plan, candidates, large)
    with processes(plan, workers=3) as evaluate:
        for archive in (large, trace_archive(1, width=1 << 16), large):
            e = evaluate(candidates, archive)
            assert e.restarts == 0
        assert_same(e, expected)


@pytest.mark.slow
def test_a_worker_needs_little_more_memory_than_its_archive():
    plan = traced_plan(width=128)
    A = trace_archive(1, width=128)
    rng = np.random.default_rng(0)
    with processes(plan, workers=1) as evaluate:
        evaluate(perturbed(plan, 4), A)
        process = psutil.Process(evaluate.pool.workers[0].process.pid)
        before = process.memory_info().rss
        for _ in range(10):
            A = A.append([rng.integers(0, 256, (1000, 128), np.uint8) for _ in range(30)])
            evaluate(perturbed(plan, 4), A)
        after = process.memory_info().rss
    assert len(A) == 301
    assert after - before < 1.3 * 300 * 1000 * 128
    assert after < 600e6


@dataclass(frozen=True)
class Unmoved(MLP):
    """A policy that does not look at moments."""

    normalize: bool = False

    @property
    def moments_size(self) -> int:
        return 0


def test_a_policy_without_moments_has_none_in_memory():
    plan = Plan(drift(), Unmoved((3, 4, 1)), k=3)
    candidates = perturbed(plan_of(drift()))
    assert candidates.contributes is not None
    assert candidates.contributes.any()
    nothing = replace(candidates.moments, sum=np.empty(0), square=np.empty(0))
    candidates = replace(candidates, moments=nothing)
    e = serially(plan, candidates, trace_archive(0))
    assert (e.moments.count, e.moments.sum.size) == (0, 0)
    with processes(plan) as evaluate:
        assert evaluate.pool.places.memories[0]["observed"].shape == (evaluate.pool.capacity, 1)
        assert_same(evaluate(candidates, trace_archive(0)), e)
