import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nses.core.seeding import Purpose, generator
from nses.rollouts.native.products import (
    CHUNK,
    COLUMNS,
    ROWS,
    Windows,
    multiply,
    multiply_vector,
)


def numbers(seed, *shape):
    return generator(seed, 0, 0, Purpose.EPISODE).standard_normal(shape, np.float32)


def operands(seed, count, inputs, columns):
    """Windows that overlap anyhow, of a flat x; W from the third number of theta on; y."""
    rng = generator(seed, 0, 1, Purpose.EPISODE)
    x, theta = numbers(seed, 60), numbers(seed + 1, 3 + inputs * columns)
    windows = Windows(rng.integers(0, 30, count), rng.integers(0, 30, inputs))
    return x, windows, theta, numbers(seed + 2, count * columns)


def every(windows):
    return np.ones(windows.places.size, np.uint8)


@given(
    st.integers(0, 1000),
    st.integers(1, 3 * ROWS),
    st.one_of(st.integers(1, 40), st.sampled_from([CHUNK, CHUNK + 1, 2 * CHUNK + 3])),
    st.sampled_from([COLUMNS, 2 * COLUMNS]),
)
@settings(deadline=None)
def test_a_product_is_that_of_plain_numpy(seed, count, inputs, columns):
    x, windows, theta, y = operands(seed, count, inputs, columns)
    multiply(x, windows, every(windows), theta, 3, columns, y)
    gathered = x[windows.places[:, None] + windows.steps].astype(np.float64)
    expected = gathered @ theta[3:].reshape(inputs, columns)
    np.testing.assert_allclose(y.reshape(count, columns), expected, rtol=1e-4, atol=1e-4)


@given(st.integers(0, 1000), st.lists(st.booleans(), min_size=1, max_size=20))
@settings(deadline=None)
def test_only_wanted_rows_change_and_have_the_bits_they_have_among_all(seed, wanted):
    x, windows, theta, y = operands(seed, len(wanted), 300, 2 * COLUMNS)
    whole, before = y.copy(), y.copy()
    multiply(x, windows, every(windows), theta, 3, 2 * COLUMNS, whole)
    multiply(x, windows, np.array(wanted, np.uint8), theta, 3, 2 * COLUMNS, y)
    rows, whole, before = (v.reshape(len(wanted), -1) for v in (y, whole, before))
    for i, chosen in enumerate(wanted):
        np.testing.assert_array_equal(rows[i], whole[i] if chosen else before[i])


@given(st.integers(0, 1000), st.integers(1, 50), st.integers(1, 40), st.floats(0, 1))
@settings(deadline=None)
def test_leaving_out_zeros_changes_no_bit(seed, inputs, columns, share):
    rng = generator(seed, 0, 2, Purpose.EPISODE)
    x = numbers(seed, inputs)
    x[rng.random(inputs) < share] = 0.0
    x[rng.random(inputs) < share / 2] = -0.0
    theta = numbers(seed + 1, 5 + inputs * columns)
    y, expected = numbers(seed, columns), np.zeros(columns, np.float32)
    multiply_vector(x, np.empty(inputs, np.int64), theta, 5, y)
    for value, row in zip(x, theta[5:].reshape(inputs, columns), strict=True):
        expected = expected + value * row  # with all its zeros
    assert y.tobytes() == expected.tobytes()


def test_a_sum_is_the_same_wherever_its_operands_lie():
    x, windows, theta, y = operands(7, 2 * ROWS, 100, COLUMNS)
    multiply(x, windows, every(windows), theta, 3, COLUMNS, y)
    for shift in range(1, 9):  # vectors that start at any float
        moved, again = np.zeros(theta.size + shift, np.float32), np.zeros_like(y)
        moved[shift:] = theta
        multiply(x, windows, every(windows), moved, 3 + shift, COLUMNS, again)
        np.testing.assert_array_equal(again, y)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_finite_comes_through_even_where_it_meets_a_zero(bad):
    x, windows, theta, y = operands(1, ROWS, 20, COLUMNS)
    x[:] = 0.0
    theta[3 + 4 * COLUMNS + 2] = bad
    multiply(x, windows, every(windows), theta, 3, COLUMNS, y)
    rows = y.reshape(ROWS, COLUMNS)
    assert np.isnan(rows[:, 2]).all()
    assert not np.delete(rows, 2, axis=1).any()
