"""Bookkeeping of candidates, without anybody who plays them."""

import logging
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nses.errors import TooManyFailures
from nses.execution.ledger import ATTEMPTS, UNIT, Holder, Ledger, units_of

SLOTS = 3
EVENTS = ("take", "answer", "die", "hang", "late")


def holder(slot: int = 0) -> Holder:
    new = Holder(f"worker {slot}", slot)
    new.ready = True
    return new


class Pretence:
    """Holders that answer, die, hang or answer after all, in any order; and what came of it."""

    def __init__(self, n: int):
        self.ledger, self.results = Ledger(n), Counter[int]()
        self.holders = [holder(slot) for slot in range(SLOTS)]
        self.late: list[tuple[Holder, range]] = []
        self.deaths: Counter[int] = Counter()

    def answer(self, one: Holder, unit: range) -> None:
        self.results.update(self.ledger.accept(one, unit))

    def lose(self, slot: int, playing: int, reason: str | None) -> None:
        """The holder of this slot, which may have finished its first unit without saying so."""
        one, self.holders[slot] = self.holders[slot], holder(slot)
        units = list(one.units)
        self.late += [(one, unit) for unit in units]
        cause = playing if any(playing in unit for unit in units) else -1 - slot
        self.deaths[cause] += 1
        finished = [] if not units or playing in units[0] else list(units[0])
        self.results.update(i for i in finished if i in self.ledger.open)
        failed = self.ledger.lost(one, playing, reason, finished)
        if failed is not None:
            assert (failed, self.deaths[failed]) == (playing, ATTEMPTS)
            self.results[failed] += 1

    def go_on(self, data: st.DataObject) -> None:
        """One event."""
        event, slot = data.draw(st.sampled_from(EVENTS)), data.draw(st.integers(0, SLOTS - 1))
        one = self.holders[slot]
        if event == "take":
            self.ledger.take(one)
        elif event == "answer" and one.units:
            self.answer(one, one.units[0])
        elif event == "late" and self.late:
            self.answer(*self.late.pop(data.draw(st.integers(0, len(self.late) - 1))))
        elif event in ("die", "hang"):
            held = [i for unit in one.units for i in unit]
            playing = data.draw(st.sampled_from([-1, *held]))
            self.lose(slot, playing, None if event == "hang" else "SIGSEGV")

    def finish(self) -> None:
        """Everybody plays what is left, and the dead answer too."""
        for one, unit in self.late:
            self.answer(one, unit)
        while self.ledger.open:
            for one in self.holders:
                self.ledger.take(one)
                if one.units:
                    self.answer(one, one.units[0])


@given(st.integers(0, 150), st.data())
def test_any_order_of_answers_deaths_and_late_answers_gives_each_candidate_one_result(n, data):
    pretence = Pretence(n)
    try:
        for _ in range(data.draw(st.integers(0, 40))):
            pretence.go_on(data)
    except TooManyFailures:
        assert max(pretence.deaths.values()) >= ATTEMPTS
        assert max(pretence.results.values(), default=1) == 1
        return
    pretence.finish()
    assert pretence.results == Counter(range(n))
    assert pretence.ledger.restarts == pretence.deaths.total()


@given(st.integers(1, 150), st.data())
def test_p2_a_candidate_that_kills_every_holder_fails_alone(n, data):
    culprit = data.draw(st.integers(0, n - 1))
    pretence, order = Pretence(n), data.draw(st.randoms(use_true_random=False))
    failed = None
    while pretence.ledger.open:
        slot = order.randrange(SLOTS)
        one = pretence.holders[slot]
        pretence.ledger.take(one)
        if one.units and culprit in one.units[0] and culprit in pretence.ledger.open:
            before = len(pretence.ledger.open)
            pretence.lose(slot, culprit, "SIGSEGV")
            if len(pretence.ledger.open) < before:
                failed = pretence.deaths[culprit]
        elif one.units:
            pretence.answer(one, one.units[0])
    assert failed == ATTEMPTS == pretence.ledger.restarts
    assert pretence.results == Counter(range(n))


def test_p6_a_candidate_that_hangs_three_holders_ends_it(caplog: pytest.LogCaptureFixture):
    ledger, one = Ledger(40), holder()
    for _ in range(ATTEMPTS):
        one = holder()
        one.silent = 2.0
        unit = ledger.take(one)
        assert unit is not None
        assert 0 in unit
        if ledger.restarts < ATTEMPTS - 1:
            assert ledger.lost(one, 0, None) is None
    with pytest.raises(TooManyFailures, match=r"hung for 2 s while playing candidate 0 \(3 times"):
        ledger.lost(one, 0, None)
    assert [record.levelno for record in caplog.records] == ATTEMPTS * [logging.WARNING]
    assert caplog.messages[-1] == "worker 0 hung for 2 s while playing candidate 0."


@pytest.mark.parametrize(("ready", "where"), [(True, "between candidates"), (False, "starting")])
def test_p2_a_slot_that_dies_three_times_for_no_candidate_ends_it(ready: bool, where: str):
    ledger = Ledger(40)
    for slot in (0, 1, 0, 1):
        ledger.lost(holder(slot), -1, "exit code 1")
    last = holder()
    last.ready = ready
    with pytest.raises(TooManyFailures, match=rf"died \(exit code 1\) while {where}"):
        ledger.lost(last, -1, "exit code 1")


def test_p2_deaths_while_looking_ahead_blame_nobody_however_many(caplog: pytest.LogCaptureFixture):
    ledger = Ledger(40)
    for reason in ATTEMPTS * ("SIGSEGV", None):
        one = holder()
        one.ahead = True
        assert ledger.lost(one, 3, reason) is None
    assert ledger.restarts == 2 * ATTEMPTS
    assert not ledger.deaths
    assert not ledger.blamed
    assert caplog.messages[0] == "worker 0 died (SIGSEGV) while looking ahead."


def test_reserved_units_are_for_their_holder_until_it_is_lost():
    ledger, one, other = Ledger(4), holder(0), holder(1)
    ledger.reserve(one, range(4, 8))
    assert [ledger.take(other), ledger.take(other), ledger.take(other)] == [
        range(0, 2), range(2, 4), None,
    ]  # fmt: skip
    assert ledger.open == set(range(8))
    ledger.lost(one, -1, "SIGKILL")
    assert (ledger.take(one), ledger.take(other)) == (range(4, 8), None)


def test_p6_silence_counts_while_looking_ahead():
    one = holder()
    one.ahead = True
    assert [one.overdue(0, 1.0, 5.0) for _ in range(6)].count(True) == 1


def test_what_a_dead_holder_had_not_finished_goes_out_first_one_by_one():
    ledger, one, other = Ledger(8), holder(0), holder(1)
    assert [ledger.take(one), ledger.take(one)] == [range(0, 2), range(2, 4)]
    assert ledger.lost(one, 2, "SIGSEGV", finished=[0, 1, 7]) is None
    taken = [ledger.take(other) for _ in range(4)]
    assert taken == [range(2, 3), range(3, 4), range(4, 6), range(6, 8)]
    assert ledger.take(other) is None
    assert ledger.open == {2, 3, 4, 5, 6, 7}  # of others it cannot have finished anything


def test_a_late_answer_saves_playing_again():
    ledger, one, other = Ledger(4), holder(0), holder(1)
    assert ledger.take(one) == range(0, 2)
    ledger.lost(one, -1, "SIGKILL")
    assert ledger.take(other) == range(0, 1)
    assert ledger.accept(one, range(0, 2)) == [0, 1]
    assert ledger.take(other) == range(2, 4)
    assert ledger.accept(other, range(0, 1)) == []


def test_p6_silence_counts_while_there_is_something_to_play():
    one = holder()
    assert not any(one.overdue(0, 1.0, 5.0) for _ in range(100))
    one.units.append(range(2))
    assert [one.overdue(0, 1.0, 5.0) for _ in range(5)].count(True) == 1
    assert not one.overdue(1, 1.0, 5.0)  # a new episode


def test_p6_time_in_which_nobody_looked_counts_a_second_at_most():
    one = holder()
    one.units.append(range(2))
    assert not any(one.overdue(0, 1000.0, 5.0) for _ in range(5))
    assert one.overdue(0, 1000.0, 5.0)


@given(st.integers(0, 3000))
def test_units_are_all_candidates_in_order_with_pairs_together(n):
    units = list(units_of(n))
    assert [i for unit in units for i in unit] == list(range(n))
    assert all(unit.start % 2 == 0 and len(unit) <= UNIT for unit in units)
