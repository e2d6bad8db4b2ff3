"""What is random in an Atari game."""

import numpy as np
import pytest

from nses.rollouts.tasks.chance import Chance, rng_of


@pytest.mark.parametrize(("noops", "least"), [(30, 1), (60, 31), (1, 1), (5, 5)])
def test_the_starts_have_every_number_of_noops_once_in_order(noops, least):
    chance = Chance(noops, least)
    drawn = [chance.draw(rng_of(seed)) for seed in chance.starts()]
    assert drawn == list(range(least, noops + 1))


def test_the_usual_noops_are_drawn_as_ever():
    drawn = [Chance().draw(rng_of(seed)) for seed in range(50)]
    assert drawn == [int(rng_of(seed).integers(1, 31)) for seed in range(50)]


def test_where_actions_stick_there_is_no_end_of_starts():
    assert Chance(sticky=0.25).starts() == ()
    assert Chance(noops=10**9).starts() == ()  # nor where nobody would play them all


def test_variations_are_sticky_actions_and_later_starts():
    assert Chance().variations() == {
        "sticky actions 0.25": Chance(30, 1, 0.25),
        "no-ops 31-60": Chance(60, 31),
    }
    assert [*Chance(noops=4).variations()] == ["sticky actions 0.25", "no-ops 5-8"]
    assert Chance(sticky=0.1).variations() == Chance(60, 31).variations() == {}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"noops": 0}, "noops must be a whole number of at least 1, got 0"),
        ({"least_noops": 31}, "from 1 to noops, which is 30, got 31"),
        ({"least_noops": 0}, "from 1 to noops, which is 30, got 0"),
        ({"sticky": 1.0}, r"sticky must be at least 0 and less than 1, got 1\.0"),
        ({"sticky": np.nan}, "sticky must be at least 0 and less than 1, got nan"),
        ({"sticky": "often"}, "sticky must be at least 0 and less than 1, got 'often'"),
    ],
)
def test_what_makes_no_sense_is_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        Chance(**wrong)
