import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nses.core.moments import Moments, initial
from nses.core.seeding import Purpose, generator
from nses.rollouts.policies.mlp import MLP

FUNCTIONS = {"tanh": np.tanh, "relu": lambda x: np.maximum(x, 0)}


def theta_of(policy, seed=0, scale=0.5):
    rng = generator(seed, 0, 0, Purpose.POLICY_INIT)
    return (scale * rng.standard_normal(policy.size)).astype(np.float32)


def layers(policy, theta):
    """W and b of every layer."""
    start = 0
    for i, o in zip(policy.sizes, policy.sizes[1:], strict=False):
        W, b = theta[start : start + i * o].reshape(i, o), theta[start + i * o :][:o]
        start += (i + 1) * o
        yield W, b
    assert start == theta.size


def plain(policy, theta, x):
    """The network in float64, as one would write it down."""
    *hidden, (W, b) = layers(policy, theta.astype(np.float64))
    for V, c in hidden:
        x = FUNCTIONS[policy.activation](x @ V + c)
    return x @ W + b


@pytest.mark.parametrize("normalize", [True, False])
def test_moments_are_those_of_all_numbers_of_an_observation(normalize):
    assert MLP((6, 4, 2), normalize=normalize).moments_size == 6


@pytest.mark.parametrize(
    ("sizes", "d"), [((376, 256, 256, 17), 166_673), ((6, 16, 16, 2), 418), ((3, 2), 8)]
)
def test_the_number_of_parameters_is_that_of_the_paper(sizes, d):
    policy = MLP(sizes)
    assert policy.size == d
    assert policy.init(generator(0, 0, 0, Purpose.POLICY_INIT)).shape == (d,)


@given(
    st.lists(st.integers(1, 13), min_size=2, max_size=5),
    st.sampled_from(sorted(FUNCTIONS)),
    st.integers(0, 1000),
)
@settings(deadline=None)
def test_the_forward_pass_is_that_of_plain_numpy(sizes, activation, seed):
    policy = MLP(tuple(sizes), activation, normalize=False)
    theta = theta_of(policy, seed)
    x = generator(seed, 0, 0, Purpose.EPISODE).standard_normal(sizes[0])
    y = policy.bind(theta, initial(sizes[0]))(x)
    assert y.dtype == np.float32
    np.testing.assert_allclose(y, plain(policy, theta, x), rtol=2e-4, atol=2e-5)


def test_the_humanoid_network_is_that_of_plain_numpy():
    policy = MLP((376, 256, 256, 17), normalize=False)
    theta = policy.init(generator(3, 0, 0, Purpose.POLICY_INIT))
    x = generator(3, 0, 0, Purpose.EPISODE).standard_normal(376)
    y = policy.bind(theta, initial(376))(x)
    np.testing.assert_allclose(y, plain(policy, theta, x), rtol=1e-3, atol=1e-6)


def test_fresh_columns_have_norm_one_those_of_the_last_layer_a_hundredth():
    policy = MLP((376, 256, 256, 17))
    theta = policy.init(generator(0, 0, 0, Purpose.POLICY_INIT))
    assert theta.dtype == np.float32
    (W0, b0), (W1, b1), (W2, b2) = layers(policy, theta)
    for W, norm in ((W0, 1.0), (W1, 1.0), (W2, 0.01)):
        np.testing.assert_allclose(np.linalg.norm(W, axis=0), norm, rtol=1e-5)
    assert not np.concatenate([b0, b1, b2]).any()


def test_different_random_numbers_give_different_members():
    policy = MLP((6, 16, 16, 2))
    one, other = (policy.init(generator(0, 0, j, Purpose.POLICY_INIT)) for j in (0, 1))
    assert not np.array_equal(one, other)


def test_inputs_are_standardized_and_clipped_at_five():
    policy, raw = MLP((2, 4, 1)), MLP((2, 4, 1), normalize=False)
    theta = theta_of(policy)
    moments = Moments(4.0, np.array([8.0, 4.0]), np.array([52.0, 4.0]))
    assert moments.mean.tolist() == [2.0, 1.0]
    assert moments.std.tolist() == [3.0, 0.1]  # the second one never varied
    respond, plainly = policy.bind(theta, moments), raw.bind(theta, moments)
    np.testing.assert_array_equal(respond(np.array([5.0, 1.0])), plainly(np.array([1.0, 0.0])))
    np.testing.assert_array_equal(respond(np.array([1e9, -1e9])), plainly(np.array([5.0, -5.0])))


def test_without_normalization_the_moments_do_not_matter():
    policy = MLP((2, 4, 1), normalize=False)
    x, theta = np.array([0.3, -0.7]), theta_of(policy)
    far = Moments(10.0, np.array([100.0, 100.0]), np.array([9e9, 9e9]))
    np.testing.assert_array_equal(policy.bind(theta, initial(2))(x), policy.bind(theta, far)(x))


def test_relu_lets_nothing_negative_through():
    policy = MLP((1, 1, 1), "relu", normalize=False)
    respond = policy.bind(np.array([1, 0, 1, 0], np.float32), initial(1))
    assert [respond(np.array([x]))[0] for x in (-2.0, 0.0, 3.0)] == [0.0, 0.0, 3.0]


def test_outputs_stay_as_they_are_when_the_network_is_used_again():
    policy = MLP((3, 5, 2))
    respond = policy.bind(theta_of(policy), initial(3))
    first = respond(np.ones(3))
    kept = first.copy()
    respond(-np.ones(3))
    np.testing.assert_array_equal(first, kept)
    np.testing.assert_array_equal(respond(np.ones(3)), kept)


def test_e5_parameters_or_moments_of_another_size_are_not_taken():
    policy = MLP((3, 5, 2))
    with pytest.raises(ValueError, match="takes theta of shape"):
        policy.bind(np.zeros(policy.size - 1, np.float32), initial(3))
    with pytest.raises(ValueError, match="takes moments of as many"):
        policy.bind(np.zeros(policy.size, np.float32), initial(4))


@pytest.mark.parametrize("sizes", [(), (3,), (3, 0, 2)])
def test_layers_without_units_are_refused(sizes):
    with pytest.raises(ValueError, match="at least 1 unit"):
        MLP(sizes)


def test_an_unknown_activation_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match="tanh or relu, got 'sigmoid'"):
        MLP((3, 2), "sigmoid")
