import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nses.core.budget import MOST_ADDED, cut, likely

LENGTHS = st.lists(st.integers(0, 50), min_size=2, max_size=40).map(
    lambda x: np.array(x[: len(x) // 2 * 2])
)


@given(LENGTHS, st.integers(1, 1500))
def test_as_many_pairs_count_as_make_the_steps_and_none_beyond(lengths, enough):
    n = cut(lengths, enough)
    assert n % 2 == 0
    assert lengths[: n - 2].sum() < enough
    assert lengths[:n].sum() >= enough or n == len(lengths)


def test_a_pair_that_makes_the_very_last_step_is_the_last():
    lengths = np.array([3, 4, 5, 6, 7, 8])
    assert [cut(lengths, steps) for steps in (1, 7, 8, 18, 19, 33, 34)] == [2, 2, 4, 4, 6, 6, 6]


@given(LENGTHS, st.integers(1, 10**9))
def test_more_candidates_come_in_pairs_and_not_all_at_once(lengths, missing):
    more = likely(lengths, missing)
    assert more % 2 == 0
    assert 2 <= more <= MOST_ADDED


def test_more_candidates_are_asked_for_by_the_lengths_that_were_seen():
    assert likely(np.array([10, 30]), 380) == 22
    assert likely(np.array([10, 30]), 40) == 4
    assert likely(np.zeros(2, np.int64), 10**9) == MOST_ADDED
    assert likely(np.zeros(2, np.int64), 10) == 22  # as if a pair made one step
