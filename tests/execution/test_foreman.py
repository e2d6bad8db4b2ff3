"""The foreman of a node, called as a cluster would call it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import count, islice

import cloudpickle
import numpy as np
import pytest

import environments
from batches import TABLE, archive, perturbed, plan_of, serially, unperturbed
from environments import drift, faulty, late_start, segfault
from nses.core.archive import empty
from nses.core.noise import Epsilon
from nses.execution.door import checksum
from nses.execution.foreman import Answer, Contract, Foreman
from nses.execution.job import Job, empty_rows, job_of, news
from nses.execution.runner import Plan
from waiting import wait_until

HEALTHY = plan_of(drift())
A = archive(20)
NONE = np.empty(0, np.int64)


def contract_of(plan: Plan) -> Contract:
    return Contract(cloudpickle.dumps(plan), {}, 0, TABLE.size, 64, 300.0, look_ahead=True)


@contextmanager
def introduced(plan: Plan = HEALTHY) -> Iterator[Foreman]:
    foreman = Foreman(workers=2)
    try:
        introduction = foreman.introduce(contract_of(plan))
        assert introduction.trouble == ""
        assert introduction.numerics.noise == checksum(TABLE)
        yield foreman
    finally:
        foreman.close()


@pytest.fixture(scope="module")
def foreman() -> Iterator[Foreman]:
    """For all tests in which nothing goes wrong: its jobs are numbered, and start all over."""
    with introduced() as foreman:
        yield foreman


numbers = count(1)  # of jobs


def travelling(job: Job) -> Job:
    return replace(job, archive=empty(0))


def everything(foreman: Foreman, number: int, job: Job) -> list[Answer]:
    """All answers until all candidates are done."""
    indices, answers, left = np.arange(len(job)), [], len(job)
    while left:
        answers.append(foreman.play(number, travelling(job), indices, NONE, 8, 0.5, {}))
        left, indices = left - len(answers[-1].parcel.indices), NONE
    return answers


def test_rows_come_back_by_candidate_for_one_job_after_the_other(foreman: Foreman):
    grown, known = A, None
    for number in islice(numbers, 3):
        job = job_of(perturbed(HEALTHY, 40), grown)
        for entries in news(grown, known):
            foreman.learn(entries)
        rows = empty_rows(40, HEALTHY)
        for answer in everything(foreman, number, job):
            assert answer.number == number
            answer.parcel.write(rows, np.ones(len(answer.parcel.indices), np.bool_))
        e = serially(HEALTHY, perturbed(HEALTHY, 40), grown)
        for name in ("f", "N", "lengths"):
            assert getattr(rows, name).tobytes() == getattr(e, name).tobytes()
        grown, known = grown.append([float(number), 2.0]), grown


def test_what_others_have_settled_is_not_played():
    job = travelling(job_of(perturbed(HEALTHY, 40), A))
    with introduced() as foreman:  # whose workers are still starting
        foreman.play(1, job, np.arange(40), NONE, 0, 0.0, {})
        answer = foreman.play(1, job, NONE, np.arange(10, 40), 0, 60.0, {})
        assert sorted(answer.parcel.indices) == list(range(10))


def test_p2_what_happened_to_workers_is_told():
    plan = plan_of(faulty(segfault, {7}))
    with introduced(plan) as foreman:
        answers = everything(foreman, 1, job_of(perturbed(plan, 16), A))
    assert sum(answer.heard.restarts for answer in answers) == 3
    assert sum(answer.heard.killers for answer in answers) == 1
    assert [i for answer in answers for i in answer.heard.deaths] == [7, 7, 7]
    said = [text for answer in answers for text in answer.said]
    assert sum("died (SIGSEGV) while playing candidate 7" in text for text in said) == 3


def test_p2_deaths_on_other_nodes_count():
    plan = plan_of(faulty(segfault, {7}))
    job = travelling(job_of(perturbed(plan, 16), A))
    with introduced(plan) as foreman:
        answer = foreman.play(1, job, np.array([7]), NONE, 0, 60.0, {7: 2})
    assert answer.parcel.indices.tolist() == [7]
    assert answer.heard.deaths == (7,)


def test_e3_a_task_that_cannot_be_set_up_is_trouble():
    foreman = Foreman(workers=1)
    trouble = foreman.introduce(contract_of(plan_of(late_start(environments.refuse)))).trouble
    assert "no licence for worker 7" in trouble
    foreman.close()


def test_the_gradient_of_blocks_is_that_of_the_whole_to_the_bit(foreman: Foreman):
    rng = np.random.default_rng(0)
    offsets, F = rng.integers(0, 1000, 21), rng.standard_normal(42)
    parts = [foreman.weighted_sum(offsets, F, block) for block in (range(1300), range(1300, 3000))]
    whole = Epsilon(TABLE, offsets, 3000).weighted_sum(F)
    assert np.concatenate(parts).tobytes() == whole.tobytes()


def test_workers_with_nothing_to_do_begin_with_their_share_of_the_next_job(
    foreman: Foreman,
):
    now, guess = job_of(unperturbed(HEALTHY), A), job_of(perturbed(HEALTHY), A)
    (pool,) = foreman.pools
    for entries in news(A, None):
        foreman.learn(entries)
    while not all(worker.holder.ready for worker in pool.workers):
        everything(foreman, next(numbers), now)
    foreman.play(
        next(numbers), travelling(now), NONE, NONE, 0, 0.0, {}, travelling(guess), np.arange(12)
    )
    wait_until(lambda: pool.progress["ahead"].sum() >= 12)  # six each
    played = int(pool.progress["played"].sum())
    answers = everything(foreman, next(numbers), guess)
    assert int(pool.progress["played"].sum()) - played >= 20
    assert pool.batch.foreseen is True
    assert answers[-1].busy > 0
    rows = empty_rows(len(guess), HEALTHY)
    for answer in answers:
        answer.parcel.write(rows, np.ones(len(answer.parcel.indices), np.bool_))
    expected = serially(HEALTHY, perturbed(HEALTHY), A)
    assert rows.f.tobytes() == expected.f.tobytes()
    assert rows.N.tobytes() == expected.N.tobytes()
