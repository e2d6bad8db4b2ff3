"""The network for images of any size: the paper's where the image is, plain NumPy's elsewhere."""

import numpy as np
import pytest
from gymnasium import spaces

from nses.core.moments import nothing
from nses.core.seeding import Purpose, generator
from nses.rollouts.images import Image, image_of
from nses.rollouts.native.convolution import INPUTS, N1, N2, N3, W1, W2, W3, W4
from nses.rollouts.native.images import fitted
from nses.rollouts.policies.conv import Conv
from nses.rollouts.policy_conformance import check_policy
from plain_numpy import plain_convolution


def random(index):
    return generator(0, 0, index, Purpose.EPISODE)


def policy_for(shape, n=3, actions=5):
    image = image_of(spaces.Box(0, 255, shape, np.uint8))
    return Conv(actions, random(1).integers(0, 256, (n, *shape), np.uint8), image)


def noisy_theta(policy):
    theta = policy.init(random(2))
    return theta + np.float32(0.05) * random(3).standard_normal(theta.size, np.float32)


def test_the_papers_image_gives_the_papers_layers():
    fit = fitted(84, 84, 4)
    assert (fit.kernels, fit.strides) == ((8, 4), (4, 2))
    assert fit.inputs == INPUTS
    assert fit.places.tolist() == [W1, N1, W2, N2, W3, N3, W4]


@pytest.mark.parametrize("size", [(3, 3), (7, 7), (21, 22), (64, 64), (210, 160), (40, 500)])
def test_the_first_layer_leaves_at_most_21_pixels_of_a_side_and_the_second_half_of_them(size):
    fit = fitted(*size, 3)
    assert max(fit.sides[1]) <= 21
    assert fit.sides[2] == tuple(-(-side // 2) for side in fit.sides[1])
    assert fit.kernels[0] >= fit.strides[0]  # no pixel is overlooked


def test_the_papers_image_with_channels_first_has_the_bits_of_the_papers_network():
    reference = random(1).integers(0, 256, (3, 84, 84, 4), np.uint8)
    paper = Conv(5, reference)
    first = np.ascontiguousarray(reference.transpose(0, 3, 1, 2))
    other = Conv(5, first, Image((4, 84, 84), (1, 2, 0)))
    theta = noisy_theta(paper)
    x = random(4).integers(0, 256, (84, 84, 4)).astype(float)
    y = other.bind(theta, nothing(0))(x.transpose(2, 0, 1).ravel())
    np.testing.assert_array_equal(y, paper.bind(theta, nothing(0))(x.ravel()))
    assert len(set(y.tolist())) == 5


def plain(policy, theta, x):
    """The network in float64, as one would write it down."""
    fit, places = policy.fit, policy.fit.places
    x = np.concatenate([policy.reference, x[None]]).transpose(
        0, *(a + 1 for a in policy.image.axes)
    )
    x = x.reshape(len(x), *policy.image.size) / policy.image.white
    units, channels = (16, 32, 256), (fit.channels, 16)
    for i, n in enumerate(units):
        W = theta[places[2 * i] : places[2 * i + 1]]
        b, gamma, beta = theta[places[2 * i + 1] :][: 3 * n].reshape(3, n)
        if i < 2:
            kernel = fit.kernels[i]
            W = W.reshape(kernel, kernel, channels[i], n)
            y = plain_convolution(x, W, fit.strides[i]) + b
        else:
            y = x.reshape(len(x), -1) @ W.reshape(-1, n) + b
        axes = tuple(range(y.ndim - 1))
        mean, variance = y[:-1].mean(axes), y[:-1].var(axes)
        x = np.maximum(gamma * (y - mean) / np.sqrt(variance + 1e-3) + beta, 0)
    V, c = theta[places[6] :][: 256 * policy.actions], theta[-policy.actions :]
    return x[-1] @ V.reshape(256, -1) + c


@pytest.mark.parametrize("shape", [(7, 7, 3), (3, 30, 20), (11, 50), (2, 6, 9, 3)], ids=str)
def test_the_network_is_that_of_plain_numpy(shape):
    policy = policy_for(shape)
    theta = noisy_theta(policy)
    act = policy.bind(theta, nothing(0))
    for index in range(3):  # what was seen before does not matter
        x = random(index).integers(0, 256, shape)
        y = act(x.astype(float).ravel())
        np.testing.assert_allclose(y, plain(policy, theta, x), rtol=1e-3, atol=1e-3)


def test_a_fitted_network_is_a_sound_policy():
    check_policy(policy_for((9, 8, 3)))


def test_observations_and_references_of_another_shape_are_refused():
    policy = policy_for((9, 8, 3))
    with pytest.raises(ValueError, match=r"shape \(216,\), got \(3,\)"):
        policy.bind(policy.init(random(0)), nothing(0))(np.zeros(3))
    with pytest.raises(ValueError, match=r"of shape \(n, 9, 8, 3\)"):
        Conv(5, np.zeros((3, 8, 9, 3), np.uint8), policy.image)
