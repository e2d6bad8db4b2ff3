"""Convolutions: where their windows lie, and what they sum."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from nses.core.seeding import Purpose, generator
from nses.rollouts.native.convolution import convolution, padding
from nses.rollouts.native.products import multiply
from plain_numpy import plain_convolution


def random(index):
    return generator(0, 0, index, Purpose.EPISODE)


@given(st.integers(1, 40), st.integers(1, 9), st.integers(1, 9))
def test_padding_is_the_least_with_which_all_windows_fit(size, kernel, stride):
    before, after = padding(size, kernel, stride)
    outputs = len(range(0, size, stride))

    def fit(total):
        return all(r * stride + kernel <= size + total for r in range(outputs))

    assert fit(before + after)
    assert before + after == 0 or not fit(before + after - 1)
    assert after - before in (0, 1)


def test_the_padding_of_both_layers_is_that_of_tensorflow():
    assert padding(84, 8, 4) == (2, 2)
    assert padding(21, 4, 2) == (1, 2)


@given(
    st.integers(1, 9), st.integers(1, 3), st.integers(1, 5), st.integers(1, 4), st.integers(0, 99)
)
@settings(deadline=None)
def test_convolutions_of_any_size_are_those_of_plain_numpy(side, channels, kernel, stride, seed):
    rng = random(seed)
    x = rng.standard_normal((side, side, channels))
    W = rng.standard_normal((kernel, kernel, channels, 16)).astype(np.float32)
    image, windows = convolution((side, side), channels, kernel, stride)
    room = np.zeros(image.size, np.float32)
    for row, start in zip(x, image.rows, strict=True):
        room[start : start + row.size] = row.ravel()
    y = np.zeros((windows.places.size, 16), np.float32)
    multiply(room, windows, np.ones(len(y), np.uint8), W.ravel(), 0, 16, y.reshape(-1))
    expected = plain_convolution(x[None], W, stride)
    np.testing.assert_allclose(y, expected.reshape(y.shape), rtol=1e-4, atol=1e-4)
