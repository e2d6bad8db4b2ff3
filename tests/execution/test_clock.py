"""What share of their time workers have had nothing to do, and how long their episodes are."""

from itertools import count

import pytest

from nses.execution import clock as module
from nses.execution.clock import BRIEF, Clock


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Ten seconds pass between two looks at it."""
    seconds = count(100.0, 10.0)
    monkeypatch.setattr(module.time, "monotonic", lambda: next(seconds))
    return Clock()


def test_the_idle_share_is_that_of_the_time_since_the_last_look(clock: Clock):
    assert clock.idle(3.0, 2) is None
    assert clock.idle(3.0 + 15.0, 2) == 0.25
    assert clock.idle(18.0 + 20.0, 2) == 0.0
    assert clock.idle(38.0 + 20.001, 2) == 0.0  # two clocks never agree


def test_episodes_are_brief_only_once_they_have_been_seen_to_be(clock: Clock):
    assert not clock.brief
    for n in (80, 15, 5):
        clock.count(n)
    clock.idle(1.0, 2)
    assert clock.episode == 0.01
    assert not clock.brief
    clock.count(100)
    clock.idle(1.0 + 99 * BRIEF, 2)
    assert clock.brief
