"""Workers that have nothing to do look ahead: the bits are the same, whatever becomes of it."""

import logging
import os
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from batches import archive, assert_same, perturbed, plan_of, processes, serially, unperturbed
from environments import complain, drift, faulty, hang, note
from nses.core.values import Candidates, Evaluation
from nses.execution.foresight import NOBODY, split
from nses.execution.ledger import units_of
from nses.execution.processes import Processes
from nses.execution.runner import Plan
from nses.rollouts.episode import Interrupted, never
from traced import trace_archive, traced_plan
from waiting import gone, wait_until

A = archive(20)
GREATER = A.append([0.1, 0.2])  # by the behavior that an evaluation finds
HEALTHY = plan_of(drift())
EVALUATION = 900  # the seed of an episode that takes until the gate opens


@dataclass(frozen=True)
class Scene:
    """A pool, one of whose workers can be kept busy."""

    evaluate: Processes
    plan: Plan
    notes: Path
    gate: Path

    def look_ahead(self, guess: Candidates, until: Callable[[], bool], A: Any = A) -> Evaluation:
        """One worker evaluates a member, and the other looks ahead, until something happens."""
        self.evaluate.foresee(1, lambda: guess)
        self.evaluate.pool.should_stop = lambda: until() and self.gate.touch() is not None
        alone = replace(unperturbed(self.plan, 1), seeds=np.array([EVALUATION]))
        e = self.evaluate(alone, A)
        self.evaluate.pool.should_stop = never
        return e

    @property
    def kept(self) -> int:
        return int(self.evaluate.pool.progress["ahead"].max())

    @property
    def played(self) -> Counter[int]:
        return Counter(map(int, self.notes.read_text().split()))


@contextmanager
def scene(
    tmp_path: Path, make: Callable[..., Plan], also_held: tuple[int, ...] = (), **settings: Any
) -> Iterator[Scene]:
    notes, gate = tmp_path / "notes", tmp_path / "gate"
    plan = make(partial(note, notes, gate, {EVALUATION, *also_held}), range(1000))
    with processes(plan, look_ahead=True, **settings) as evaluate:
        yield Scene(evaluate, plan, notes, gate)


@pytest.fixture(scope="module")
def foreseeing() -> Iterator[Processes]:
    with processes(HEALTHY, look_ahead=True) as evaluate:
        yield evaluate


def vectors(fault: Any, seeds: Any) -> Plan:
    return plan_of(faulty(fault, seeds))


@pytest.mark.parametrize(
    ("make", "before", "after"),
    [(vectors, A, GREATER), (traced_plan, trace_archive(5), trace_archive(6))],
    ids=["vectors", "traces"],
)
def test_what_was_played_ahead_is_not_played_again_and_gives_the_same_bits(
    make: Callable[..., Plan], before: Any, after: Any, tmp_path: Path
):
    with scene(tmp_path, make) as s:
        guess = perturbed(s.plan)
        first = s.look_ahead(guess, until=lambda: s.kept >= 16, A=before)
        assert first.foreseen is None
        e = s.evaluate(guess, after)
        assert s.played == Counter({EVALUATION: 1} | {seed: 1 for seed in range(32)})
        again = s.evaluate(guess, before)  # nobody foresaw that
        expected = serially(s.plan, guess, after), serially(s.plan, guess, before)
    assert_same(e, expected[0])
    assert_same(again, expected[1])
    assert (e.foreseen, again.foreseen) == (True, None)
    assert e.restarts == again.restarts == 0
    assert again.idle is not None
    assert 0 <= again.idle <= 1


def test_after_a_wrong_guess_everything_is_played(foreseeing: Processes):
    wrong = perturbed(HEALTHY)
    others = [
        replace(wrong, theta=wrong.theta + 1),
        replace(wrong, seeds=wrong.seeds + 1),
        replace(wrong, sigma=0.25),
        perturbed(HEALTHY, 34),
    ]
    for right in others:
        foreseeing.foresee(1, lambda: wrong)
        foreseeing(unperturbed(HEALTHY), A)
        e = foreseeing(right, GREATER)
        assert_same(e, serially(HEALTHY, right, GREATER))
        assert not e.foreseen


def test_generation_after_generation_with_right_and_wrong_guesses_from_the_tail_on():
    candidates = [replace(perturbed(HEALTHY), seeds=np.arange(32) + 100 * t) for t in range(6)]
    found = []
    with processes(HEALTHY, workers=3, look_ahead=True) as evaluate:
        for t, now in enumerate(candidates):
            guess = candidates[(t + 1 + t % 2) % 6]  # every second one is wrong
            if t % 3:
                evaluate.foresee(t + 1, lambda guess=guess: guess)
            e = evaluate(now, A)
            assert_same(e, serially(HEALTHY, now, A))
            found.append(e.foreseen)
            if not t % 3:
                evaluate.foresee(t + 1, lambda guess=guess: guess)
            assert_same(
                evaluate(unperturbed(HEALTHY), A), serially(HEALTHY, unperturbed(HEALTHY), A)
            )
    assert set(found[1::2]) <= {True, None}  # None: nobody had time for it
    assert set(found[2::2]) <= {False, None}


def test_more_of_the_same_generation_does_not_end_the_guess(tmp_path: Path):
    with scene(tmp_path, vectors) as s:
        guess = perturbed(s.plan)
        s.look_ahead(guess, until=lambda: s.kept >= 4)
        more = replace(perturbed(s.plan, 8), before=32, enough=20)
        assert s.evaluate(more, A).foreseen is None
        assert s.evaluate(guess, A).foreseen is True


def test_p1_a_worker_killed_while_it_looks_ahead_is_nobodys_fault(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    killed: list[int] = []

    def kill() -> bool:
        ahead = [w for w in s.evaluate.pool.workers if w.holder.ahead]
        if not killed and ahead and s.kept >= 4:
            killed.append(ahead[0].process.pid)
            os.kill(killed[0], signal.SIGKILL)
        return s.evaluate.pool.batch.ledger.restarts > 0

    with scene(tmp_path, vectors, also_held=(8, 10)) as s:  # the fifth of each share
        first = s.look_ahead(perturbed(s.plan), until=kill)
        ledger = s.evaluate.pool.batch.ledger
        assert (ledger.deaths.total(), first.restarts) == (0, 1)
        e = s.evaluate(perturbed(s.plan), A)
    assert_same(e, serially(HEALTHY, perturbed(HEALTHY), A))
    assert (e.foreseen, e.restarts) == (True, 0)
    (record,) = [r for r in caplog.records if r.levelno == logging.WARNING]
    assert "SIGKILL" in record.getMessage()
    assert record.getMessage().endswith("while looking ahead.")


@pytest.mark.slow
def test_p6_the_deadline_holds_for_those_who_look_ahead(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    marks = tmp_path / "marks"
    marks.mkdir()
    plan = plan_of(faulty(hang, {0, 2}, marks))  # the first of each share, once
    with processes(plan, look_ahead=True, deadline=2.0) as evaluate:
        evaluate.foresee(1, lambda: perturbed(plan))
        evaluate(replace(unperturbed(plan), seeds=np.arange(500, 530)), A)
        wait_until(lambda: any(marks.iterdir()))
        e = evaluate(perturbed(plan), A)
    assert_same(e, serially(HEALTHY, perturbed(HEALTHY), A))
    assert "while looking ahead." in caplog.text


def test_e3_what_fails_while_looking_ahead_is_played_again_and_fails_then():
    plan = plan_of(faulty(complain, {4, 6}))
    with processes(plan, look_ahead=True) as evaluate:
        evaluate.foresee(1, lambda: perturbed(plan, 64))
        evaluate(replace(unperturbed(plan), seeds=np.arange(500, 530)), A)
        e = evaluate(perturbed(plan, 64), A)
    assert np.flatnonzero(np.isnan(e.f)).tolist() == [4, 6]
    assert_same(e, serially(plan, perturbed(plan, 64), A))


def test_p7_an_interruption_while_looking_ahead_leaves_nothing_behind(tmp_path: Path):
    with scene(tmp_path, vectors) as s:
        pids = [worker.process.pid for worker in s.evaluate.pool.workers]
        s.evaluate.foresee(1, lambda: perturbed(s.plan))
        s.evaluate.pool.should_stop = lambda: s.kept >= 4
        with pytest.raises(Interrupted):
            s.evaluate(replace(unperturbed(s.plan, 1), seeds=np.array([EVALUATION])), A)
        s.evaluate.pool.should_stop = never
        e = s.evaluate(perturbed(s.plan), A)
        assert_same(e, serially(HEALTHY, perturbed(HEALTHY), A))
        s.evaluate.foresee(1, lambda: perturbed(s.plan))
        s.evaluate(unperturbed(s.plan), A)
        pids += [worker.process.pid for worker in s.evaluate.pool.workers]
    assert gone(pids)


@pytest.mark.parametrize("settings", [{"workers": 1, "look_ahead": True}, {"workers": 2}])
def test_nobody_looks_ahead_where_it_is_switched_off_or_there_is_one_worker(settings: Any):
    def never_asked() -> Candidates:
        raise AssertionError

    with processes(HEALTHY, **settings) as evaluate:
        evaluate.foresee(1, never_asked)
        evaluate(unperturbed(HEALTHY), A)
        assert evaluate(perturbed(HEALTHY), A).foreseen is None


def test_a_guess_for_which_there_is_no_room_is_ignored(foreseeing: Processes):
    foreseeing.foresee(1, lambda: perturbed(HEALTHY, 66))
    foreseeing(unperturbed(HEALTHY), A)
    e = foreseeing(perturbed(HEALTHY, 66), A)
    assert_same(e, serially(HEALTHY, perturbed(HEALTHY, 66), A))


def test_who_looks_ahead_is_not_called_back_for_nothing(foreseeing: Processes):
    pool = foreseeing.pool
    foreseeing(perturbed(HEALTHY), A)
    turn = pool.progress["turn"].copy()
    pool.exchange()
    assert pool.progress["turn"] == turn
    pool.exchange([range(2)])
    assert pool.progress["turn"] == turn + 1


@given(hnp.arrays(np.int64, st.integers(1, 200), elements=st.integers(NOBODY, 2)))
def test_units_are_split_where_the_keeper_changes(keepers: Any):
    parts = list(split(units_of(len(keepers)), keepers))
    assert [i for _, unit in parts for i in unit] == list(range(len(keepers)))
    assert all((keepers[unit.start : unit.stop] == slot).all() for slot, unit in parts)
