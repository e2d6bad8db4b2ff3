"""A pool takes units and gives rows, as much and as long as it is asked."""

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from batches import TABLE, archive, perturbed, plan_of, serially
from environments import dawdle, drift, faulty, hold, segfault
from nses.core.values import Candidates
from nses.execution.job import FAILED, job_of
from nses.execution.ledger import ATTEMPTS
from nses.execution.pool import Pool
from nses.execution.runner import Plan
from waiting import wait_until

A = archive(20)
HEALTHY = plan_of(drift())


@contextmanager
def pool_of(plan: Plan = HEALTHY, **settings: Any) -> Iterator[Pool]:
    chosen = {"capacity": 64, "workers": 2, "slots": 2} | settings
    with closing(Pool(plan, TABLE.size, **chosen)) as pool:
        pool.noise[:] = TABLE
        yield pool


def assert_right(pool: Pool, candidates: Candidates, indices: list[int]) -> None:
    e = serially(HEALTHY, candidates, A)
    for name in ("f", "N", "lengths"):
        assert getattr(pool.rows, name)[indices].tobytes() == getattr(e, name)[indices].tobytes()


def test_an_exchange_returns_when_few_candidates_are_left_and_says_which_are_done():
    candidates = perturbed(HEALTHY, 64)
    with pool_of() as pool:
        pool.begin(job_of(candidates, A))
        done = pool.exchange([range(0, 8), range(8, 16)], low=8).indices
        assert done
        assert pool.left <= 8
        done += pool.exchange([range(40, 64)]).indices  # what was left of the first, too
        assert pool.left == 0
        assert sorted(done) == [*range(16), *range(40, 64)]
        assert_right(pool, candidates, done)
        assert pool.exchange().indices == []


def test_an_exchange_ends_in_time_even_if_nothing_is_done(tmp_path: Path):
    gate = tmp_path / "gate"
    plan = plan_of(faulty(partial(hold, gate), range(1000)))
    with pool_of(plan) as pool:
        pool.begin(job_of(perturbed(plan), A))
        before = time.monotonic()
        assert pool.exchange([range(4)], seconds=0.1).indices == []
        assert time.monotonic() - before >= 0.1
        gate.touch()
        assert sorted(pool.exchange().indices) == [0, 1, 2, 3]


def test_a_job_begins_while_workers_still_play_the_last_one_of_which_nothing_comes_back(
    tmp_path: Path,
):
    gate = tmp_path / "gate"
    plan = plan_of(faulty(partial(hold, gate), {100, 101}))
    stuck = perturbed(plan, 4)
    stuck = Candidates(stuck.theta + 1, stuck.moments, np.array([100, 101, 102, 103]))
    with pool_of(plan) as pool:
        pids = [worker.process.pid for worker in pool.workers]
        pool.begin(job_of(stuck, A))
        while not (pool.progress["current"] >= 0).all():
            pool.exchange([range(0, 1), range(1, 2), range(2, 4)][: 3 - pool.left], seconds=0.05)
        pool.begin(job_of(perturbed(plan), A))
        pool.exchange([range(32)], seconds=0.1)
        gate.touch()
        done = pool.exchange().indices
        assert sorted(done) == list(range(32))
        assert_right(pool, perturbed(HEALTHY), done)
        assert [worker.process.pid for worker in pool.workers] == pids  # nobody was killed for it


def test_who_plays_the_job_before_the_last_is_replaced(tmp_path: Path):
    """It would write into the memory of the next one."""
    plan = plan_of(faulty(partial(hold, tmp_path / "gate"), {100}))
    healthy = perturbed(plan)
    stuck = Candidates(healthy.theta, healthy.moments, np.array([100]))
    with pool_of(plan) as pool:
        pool.begin(job_of(stuck, A))
        while not (pool.progress["current"] >= 0).any():
            pool.exchange([range(1)] if not pool.left else [], seconds=0.05)
        (slot,) = np.flatnonzero(pool.progress["current"] >= 0)
        victim = next(w for w in pool.workers if w.slot == slot)
        for _ in range(2):
            pool.begin(job_of(healthy, A))
            assert sorted(pool.exchange([range(32)]).indices) == list(range(32))
            assert_right(pool, perturbed(HEALTHY), list(range(32)))
        assert victim not in pool.workers
        wait_until(lambda: not psutil.pid_exists(victim.process.pid))


def test_p2_a_candidate_that_kills_its_workers_is_told_at_once():
    plan = plan_of(faulty(segfault, {0}))
    with pool_of(plan) as pool:
        pool.begin(job_of(perturbed(plan, 64), A))
        settled, restarts = pool.exchange([range(64)]), 0
        while not settled.errors:
            restarts += settled.restarts
            settled = pool.exchange()
        assert settled.killers == 1
        assert restarts + settled.restarts == ATTEMPTS
        assert pool.rows.status[0] == FAILED
        assert settled.errors == ("candidate 0 killed 3 workers (SIGSEGV)",)


@pytest.mark.slow
def test_an_old_job_is_left_between_two_episodes():
    slow = plan_of(faulty(dawdle, range(1000)))
    with pool_of(slow) as pool:
        pool.begin(job_of(perturbed(slow, 64), A))
        while not (pool.progress["current"] >= 0).all():
            pool.exchange([range(32), range(32, 64)] if not pool.left else [], seconds=0.01)
        played = pool.progress["played"].sum()
        pool.begin(job_of(perturbed(slow, 4), A))
        assert sorted(pool.exchange([range(4)]).indices) == [0, 1, 2, 3]
        assert pool.progress["played"].sum() - played < 20  # not all of the 64
