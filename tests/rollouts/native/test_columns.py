"""Dense layers of few units: the same bits as a plain loop, whatever the registers hold."""

import numpy as np
import pytest

from nses.core.seeding import Purpose, generator
from nses.rollouts.native.network import dense, narrow, wide

BEFORE, AFTER = 3, 5  # numbers in theta around the layer


def layer(inputs, units):
    """theta, x, and room for y with something around it."""
    rng = generator(inputs, 0, units, Purpose.EPISODE)
    theta = rng.standard_normal(BEFORE + (inputs + 1) * units + AFTER, np.float32)
    return theta, rng.standard_normal(inputs, np.float32), np.full(units + 2, 7.0, np.float32)


@pytest.mark.parametrize("inputs", [1, 2, 3, 4, 5, 8, 11, 17, 64])
def test_any_number_of_units_has_the_bits_of_a_plain_loop(inputs):
    for units in range(1, 70):
        theta, x, y = layer(inputs, units)
        expected = y.copy()
        (narrow if units < 8 else wide)(theta, BEFORE, x, expected[1:-1])
        assert dense(theta, BEFORE, x, y[1:-1]) == BEFORE + (inputs + 1) * units
        assert y.tobytes() == expected.tobytes()
        assert expected[0] == expected[-1] == 7.0


@pytest.mark.parametrize("units", [2, 6, 12, 16, 17, 40, 64, 65])
def test_a_layer_is_x_times_w_plus_b(units):
    theta, x, y = layer(37, units)
    W = theta[BEFORE : BEFORE + 37 * units].reshape(37, units)
    b = theta[BEFORE + 37 * units :][:units]
    dense(theta, BEFORE, x, y[1:-1])
    np.testing.assert_allclose(y[1:-1], x @ W.astype(np.float64) + b, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("units", [6, 12, 17, 64])
def test_numbers_that_are_not_finite_come_through_where_they_belong(units):
    theta, x, y = layer(9, units)
    theta[BEFORE + 8 * units + units - 1] = np.nan  # the last row, the last unit
    theta[BEFORE + 9 * units] = np.inf  # the first bias
    dense(theta, BEFORE, x, y[1:-1])
    assert np.isnan(y[1:-1]).tolist() == [False] * (units - 1) + [True]
    assert np.isinf(y[1:-1]).tolist() == [True] + [False] * (units - 1)
