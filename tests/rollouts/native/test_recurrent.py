"""The compiled recurrent unit computes what its equations say."""

import numpy as np

from nses.rollouts.native.recurrent import recur


def test_one_step_is_that_of_the_equations():
    rng, inputs, units = np.random.default_rng(0), 3, 9
    sizes = (inputs + units) * 2 * units, 2 * units, (inputs + units) * units, units
    before, after = rng.standard_normal(5), rng.standard_normal(4)
    W, b, V, c = (rng.standard_normal(size) for size in sizes)
    theta = np.concatenate([before, W, b, V, c, after]).astype(np.float32)
    x, h = (rng.standard_normal(size).astype(np.float32) for size in (inputs, units))

    gates = np.concatenate([x, h]) @ W.reshape(-1, 2 * units) + b
    r, z = np.split(1 / (1 + np.exp(-gates)), 2)
    g = np.tanh(np.concatenate([x, r * h]) @ V.reshape(-1, units) + c)
    expected = z * h + (1 - z) * g

    assert recur(theta, len(before), x, h) == theta.size - len(after)
    np.testing.assert_allclose(h, expected, atol=2e-6)
