"""Runs that share CPUs have the bits of runs that have them all, and get more as others end."""

import os
from contextlib import closing

import pytest

from batches import archive, assert_same, perturbed, plan_of, processes, serially, unperturbed
from environments import drift
from nses.execution.processes import Processes
from nses.execution.sharing import Board, share_of, sharers_on
from nses.rollouts.tasks.catalog import make_task

A = archive(20)


@pytest.mark.parametrize(
    ("cpus", "shares"),
    [(1, [1, 1]), (2, [2, 1, 1]), (4, [4, 4, 3, 1, 1]), (64, [64, 64, 43, 32, 26])],
)
def test_two_workers_for_every_cpu_unless_a_run_has_one_of_its_own(cpus, shares):
    assert [share_of(cpus, runs) for runs in range(1, len(shares) + 1)] == shares


def test_the_number_of_runs_is_seen_by_who_was_given_the_board():
    with closing(Board()) as board:
        sharers = sharers_on(os.dup(board.descriptor))
        for runs in (3, 2, 0):
            board.write(runs)
            assert sharers() == max(1, runs)


class Others:
    """Two runs share the CPUs, until this one has asked that often; then it is alone."""

    def __init__(self, stay: int):
        self.stay = stay

    def __call__(self) -> int:
        self.stay -= 1
        return 2 if self.stay >= 0 else 1


def pids(evaluate: Processes) -> list[int]:
    return [worker.process.pid for worker in evaluate.pool.workers]


@pytest.mark.slow
def test_a_run_with_one_cpu_plays_in_its_own_process_until_it_gets_more():
    plan = plan_of(make_task("point-trap"))
    candidates, unchanged = perturbed(plan, 50), unperturbed(plan)
    with processes(plan, at_first=0) as evaluate:
        evaluate.sharers = Others(10**9)
        assert_same(evaluate(candidates, A), serially(plan, candidates, A))
        assert pids(evaluate) == []
        evaluate.sharers = Others(5)  # in the middle of the next job
        assert_same(evaluate(candidates, A), serially(plan, candidates, A))
        assert len(pids(evaluate)) == 2
        assert_same(evaluate(unchanged, A), serially(plan, unchanged, A))


@pytest.mark.slow
def test_where_other_code_plays_it_has_one_worker_until_it_gets_more():
    plan = plan_of(drift())
    candidates = perturbed(plan)
    with processes(plan, at_first=0) as evaluate:
        evaluate.sharers = Others(10**9)
        assert_same(evaluate(candidates, A), serially(plan, candidates, A))
        first = pids(evaluate)
        assert len(first) == 1
        evaluate.sharers = Others(0)
        assert_same(evaluate(candidates, A), serially(plan, candidates, A))
        assert pids(evaluate)[:1] == first
        assert len(pids(evaluate)) == 2
