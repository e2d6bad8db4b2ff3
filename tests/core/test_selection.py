import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nses.core.selection import SELECTIONS, select, selection_probabilities


@given(st.lists(st.floats(0, 1e300), min_size=1, max_size=9))
def test_members_are_selected_in_proportion_to_their_novelty(N):
    P = selection_probabilities(np.array(N))
    assert P.sum() == pytest.approx(1)
    if sum(N) > 0:
        np.testing.assert_allclose(P, np.array(N) / sum(N))


@pytest.mark.parametrize("N", [[0.0, 0.0], [np.nan, 1.0], [np.inf, 1.0]])
def test_e10_selection_is_uniform_where_novelty_does_not_add_up(N):
    np.testing.assert_array_equal(selection_probabilities(np.array(N)), [0.5, 0.5])


def test_selection_follows_its_probabilities():
    P = np.array([0.1, 0.0, 0.6, 0.3])
    drawn = np.bincount([select(P, seed=1, t=t) for t in range(4000)], minlength=4) / 4000
    np.testing.assert_allclose(drawn, P, atol=4 * 0.5 / np.sqrt(4000))
    assert drawn[1] == 0


@pytest.mark.parametrize("name", SELECTIONS)
def test_every_selection_gives_probabilities(name):
    for t in range(5):
        P = SELECTIONS[name](np.array([3.0, 0.0, 1.0]), t)
        assert P.shape == (3,)
        assert P.min() >= 0
        assert P.sum() == pytest.approx(1)


def test_the_last_member_is_selected_where_rounding_leaves_a_gap_below_one():
    assert select(np.full(3, 1e-12), seed=0, t=0) == 2
