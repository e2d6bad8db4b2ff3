import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from nses.core.moments import VARIANCE_FLOOR, Moments, initial, nothing, of_row, row_size
from nses.rollouts.native.network import take_in

observations = arrays(
    np.float64, st.tuples(st.integers(1, 20), st.just(3)), elements=st.floats(-100, 100)
)


def moments_of(o):
    return Moments(len(o), o.sum(axis=0), (o**2).sum(axis=0))


@given(observations, observations)
def test_merged_moments_are_those_of_all_observations(first, second):
    both = np.concatenate([first, second])
    merged = moments_of(first).merge(moments_of(second))
    np.testing.assert_allclose(merged.mean, both.mean(axis=0), atol=1e-9)
    std = np.sqrt(np.maximum(both.var(axis=0), VARIANCE_FLOOR))
    np.testing.assert_allclose(merged.std, std, atol=1e-6)


@given(observations)
def test_a_row_holds_all_of_them(o):
    seen = moments_of(o)
    assert seen.row.size == row_size(3)
    again = of_row(seen.row)
    assert again.count == seen.count
    np.testing.assert_array_equal(again.sum, seen.sum)
    np.testing.assert_array_equal(again.square, seen.square)


@given(observations)
def test_nothing_is_neutral(o):
    seen = moments_of(o)
    for merged in (seen.merge(nothing(3)), nothing(3).merge(seen)):
        assert merged.count == seen.count
        np.testing.assert_array_equal(merged.sum, seen.sum)
        np.testing.assert_array_equal(merged.square, seen.square)


def test_the_first_moments_are_finite_with_mean_0_and_variance_1():
    np.testing.assert_array_equal(initial(4).mean, np.zeros(4))
    np.testing.assert_array_equal(initial(4).std, np.ones(4))


def test_the_first_moments_weigh_next_to_nothing():
    o = np.full((100, 1), 3.0) + np.tile([[1.0], [-1.0]], (50, 1))
    merged = initial(1).merge(moments_of(o))
    np.testing.assert_allclose([merged.mean, merged.std], [[3.0], [1.0]], rtol=1e-3)


def test_merging_leaves_both_as_they_were():
    a, b = initial(2), moments_of(np.ones((5, 2)))
    a.merge(b)
    np.testing.assert_array_equal(a.sum, [0, 0])
    np.testing.assert_array_equal(b.sum, [5, 5])


@pytest.mark.parametrize("value", [0.0, 0.1, -7.3, 1e6])
def test_e19_a_constant_observation_has_the_floor_as_its_variance(value):
    o = np.full((1000, 1), value)
    np.testing.assert_allclose(moments_of(o).std, [VARIANCE_FLOOR**0.5], rtol=0.1)


def test_e19_a_variance_made_negative_by_rounding_is_floored():
    seen = Moments(3.0, np.array([0.3]), np.array([0.03 - 1e-12]))
    assert seen.std == VARIANCE_FLOOR**0.5


def test_e19_the_largest_float32_observations_stay_finite():
    huge = float(np.finfo(np.float32).max)
    seen = moments_of(np.array([[huge], [-huge]] * 1000))
    assert np.isfinite(seen.mean).all()
    np.testing.assert_allclose(seen.std, [huge])


def test_e19_numbers_beyond_1e100_count_as_1e100():
    sums = np.zeros((2, 4))
    assert take_in(np.array([1e300, -1e300, 1.5e100, 9e99]), sums, True)
    np.testing.assert_array_equal(sums[0], [1e100, -1e100, 1e100, 9e99])
    np.testing.assert_array_equal(sums[1], sums[0] ** 2)


def test_their_repr_says_of_how_many_observations_they_are():
    assert repr(initial(3)) == "<moments of 0.01 observations, 3 numbers each>"
