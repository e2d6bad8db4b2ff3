import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import rankdata

from nses.core.ranks import centered_ranks

numbers = st.lists(st.floats(allow_nan=False), min_size=2, max_size=50)
few_values = st.lists(st.integers(-3, 3), min_size=2, max_size=50)


@given(numbers | few_values)
def test_ties_share_their_mean_rank_as_in_scipy(x):
    expected = (rankdata(x, method="average") - 1) / (len(x) - 1) - 0.5
    np.testing.assert_array_equal(centered_ranks(x), expected)


@given(numbers | few_values)
def test_ordinal_ranks_follow_the_order_of_equal_values_as_in_scipy(x):
    expected = (rankdata(x, method="ordinal") - 1) / (len(x) - 1) - 0.5
    np.testing.assert_array_equal(centered_ranks(x, ordinal=True), expected)


@given(few_values)
def test_ranks_are_centered_and_at_most_one_half(x):
    ranks = centered_ranks(x)
    assert abs(ranks.sum()) < 1e-12
    assert np.abs(ranks).max() <= 0.5


@given(few_values)
def test_ranks_change_sign_with_their_numbers(x):
    np.testing.assert_allclose(centered_ranks(-np.array(x)), -centered_ranks(x), atol=1e-15)


@given(few_values)
def test_only_the_order_counts(x):
    np.testing.assert_array_equal(centered_ranks(np.array(x) ** 3 * 1e200), centered_ranks(x))


def test_distinct_numbers_are_spread_evenly_from_minus_to_plus_one_half():
    np.testing.assert_array_equal(
        centered_ranks([30.0, 10.0, 20.0, 50.0, 40.0]), [0, -0.5, -0.25, 0.5, 0.25]
    )


def test_infinities_rank_at_the_ends():
    np.testing.assert_array_equal(centered_ranks([np.inf, 0.0, -np.inf]), [0.5, 0, -0.5])


def test_one_number_or_none_has_the_rank_zero():
    np.testing.assert_array_equal(centered_ranks([7.0]), [0])
    assert centered_ranks([]).shape == (0,)


@pytest.mark.parametrize("n", [2, 3, 7, 10_000])
def test_e12_equal_numbers_have_ranks_of_exactly_zero(n):
    assert not centered_ranks(np.full(n, 0.1)).any()


@pytest.mark.parametrize("ordinal", [False, True])
def test_e1_nan_is_refused_not_ranked(ordinal):
    with pytest.raises(ValueError, match="cannot rank NaN"):
        centered_ranks([1.0, np.nan, 2.0], ordinal=ordinal)


def test_a_table_of_numbers_is_refused_with_its_shape():
    with pytest.raises(ValueError, match=r"\(2, 2\)"):
        centered_ranks([[1.0, 2.0], [3.0, 4.0]])
