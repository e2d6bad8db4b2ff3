"""The compiled functions that networks are made of."""

import numpy as np

from nses.rollouts.native.network import tanh


def test_tanh_is_right_to_seven_digits():
    x = np.linspace(-20, 20, 40_001, dtype=np.float32)
    y = np.array([tanh(v) for v in x], np.float64)
    assert np.abs(y - np.tanh(x.astype(np.float64))).max() < 5e-7
    np.testing.assert_array_equal(y, -y[::-1])
