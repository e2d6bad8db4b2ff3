import os
import subprocess
import sys
from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nses.core.moments import nothing
from nses.core.seeding import Purpose, generator
from nses.rollouts.policies.conv import Conv
from nses.rollouts.policy_conformance import check_policy
from plain_numpy import plain_convolution

NO_MOMENTS = nothing(0)
SHAPES = [(8, 8, 4, 16), (4, 4, 16, 32), (3872, 256)]  # row, column, channel, unit


def random(index):
    return generator(0, 0, index, Purpose.EPISODE)


def screens(n, index=0):
    """Observations of shades with an edge or two, (n, 84, 84, 4), unlike each other."""
    rng = random(index)
    noise = rng.integers(0, 60, (n, 84, 84, 4))
    rows, columns = rng.integers(10, 70, (2, n))
    for i in range(n):
        noise[i, rows[i] :] += rng.integers(0, 90)
        noise[i, :, columns[i] :] += rng.integers(0, 90)
    return noise.astype(np.uint8)


def frames(observation):
    return np.ascontiguousarray(observation.transpose(2, 0, 1))


def flat(observation):
    return observation.astype(np.float64).ravel()


def theta_of(policy, index=0, noise=0.05):
    """Fresh parameters with noise on all of them, so that no b, γ or β is trivial."""
    fresh, epsilon = drawn(policy.actions, index)
    return (fresh + np.float32(noise) * epsilon).astype(np.float32)


@cache
def drawn(actions, index):
    policy, rng = Conv(actions, screens(2)), generator(0, 0, index, Purpose.POLICY_INIT)
    return policy.init(rng), rng.standard_normal(policy.size, np.float32)


def parts(policy, theta):
    """W, b, γ, β of the hidden layers, W, b of the last one: as the docstring of Conv has it."""
    sizes = []
    for *inputs, units in SHAPES:
        sizes += [np.prod(inputs) * units, units, units, units]
    sizes += [256 * policy.actions, policy.actions]
    ends = np.cumsum(sizes)
    assert ends[-1] == theta.size
    return np.split(theta, ends[:-1])


def plain(policy, theta, observation):
    """The network in float64, as one would write it down: batch and observation side by side."""
    *hidden, V, c = parts(policy, theta.astype(np.float64))
    x = np.concatenate([policy.reference, observation[None]]) / 255
    for layer, stride in enumerate((4, 2, None)):
        W, b, gamma, beta = hidden[4 * layer : 4 * layer + 4]
        W = W.reshape(SHAPES[layer])
        y = plain_convolution(x, W, stride) + b if stride else x.reshape(len(x), -1) @ W + b
        axes = tuple(range(y.ndim - 1))
        mean, variance = y[:-1].mean(axes), y[:-1].var(axes)
        x = np.maximum(gamma * (y - mean) / np.sqrt(variance + 1e-3) + beta, 0)
    return x[-1] @ V.reshape(256, policy.actions) + c


@pytest.fixture(scope="module")
def policy():
    return Conv(6, screens(4))


@pytest.mark.parametrize("actions", [3, 6, 9, 10, 18])
def test_the_number_of_parameters_is_that_of_the_paper(actions):
    policy = Conv(actions, screens(2))
    assert policy.size == 1_004_432 + 257 * actions
    assert policy.init(random(0)).shape == (policy.size,)
    assert (policy.observation_size, policy.moments_size) == (84 * 84 * 4, 0)


def test_fresh_weights_are_xavier_uniform_and_norms_change_nothing(policy):
    theta = policy.init(random(0))
    assert theta.dtype == np.float32
    *hidden, V, c = parts(policy, theta)
    fans = [(8 * 8 * 4, 8 * 8 * 16), (4 * 4 * 16, 4 * 4 * 32), (3872, 256), (256, 6)]
    for W, fan in zip([*hidden[::4], V], fans, strict=True):
        limit = np.sqrt(6 / sum(fan))
        assert 0.99 * limit < np.abs(W).max() <= limit
        assert W.std() == pytest.approx(limit / np.sqrt(3), rel=0.05)
        assert abs(W.mean()) < 0.05 * limit
    assert all((gamma == 1).all() for gamma in hidden[2::4])
    assert not np.concatenate([*hidden[1::4], *hidden[3::4], c]).any()


@pytest.mark.parametrize("actions", [3, 18])
@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_the_network_is_that_of_plain_numpy(actions, noise):
    policy = Conv(actions, screens(5))
    theta = theta_of(policy, noise=noise)
    act = policy.bind_frames(theta)
    for observation in (*screens(2, index=1), policy.reference[1]):
        y = act(frames(observation))
        assert (y.dtype, y.shape) == (np.float32, (actions,))
        expected = plain(policy, theta, observation)
        np.testing.assert_allclose(y, expected, atol=2e-4 * np.abs(expected).max())


def test_the_network_is_that_of_pytorch(policy):
    torch = pytest.importorskip("torch")
    functional = torch.nn.functional
    theta, observation = theta_of(policy), screens(1, index=1)
    *hidden, V, c = (torch.from_numpy(part) for part in parts(policy, theta))
    batch = np.concatenate([policy.reference, observation])
    x = torch.from_numpy(batch).permute(0, 3, 1, 2).float() / 255
    for layer, (margins, stride) in enumerate([((2, 2, 2, 2), 4), ((1, 2, 1, 2), 2), (None, None)]):
        W, b, gamma, beta = hidden[4 * layer : 4 * layer + 4]
        W = W.reshape(SHAPES[layer])
        if stride:
            padded = functional.pad(x, margins)
            y = functional.conv2d(padded, W.permute(3, 2, 0, 1), b, stride)
        else:
            y = functional.linear(x.permute(0, 2, 3, 1).flatten(1), W.T, b)
        axes = [axis for axis in range(y.ndim) if axis != 1]
        mean, variance = y[:-1].mean(axes), y[:-1].var(axes, correction=0)
        x = functional.relu(functional.batch_norm(y, mean, variance, gamma, beta, eps=1e-3))
    expected = (x[-1] @ V.reshape(256, policy.actions) + c).numpy()
    y = policy.bind_frames(theta)(frames(observation[0]))
    np.testing.assert_allclose(y, expected, atol=2e-4 * np.abs(expected).max())


def test_flat_observations_and_frames_give_the_same_bits(policy):
    theta = theta_of(policy)
    act, act_on_frames = policy.bind(theta, NO_MOMENTS), policy.bind_frames(theta)
    for observation in screens(5, index=1):
        np.testing.assert_array_equal(act(flat(observation)), act_on_frames(frames(observation)))


FEW, ANOTHER = screens(2), screens(1, index=1)[0]
edits = st.tuples(*[st.integers(0, 84)] * 4, st.integers(0, 3), st.sampled_from([0, 7, 255]))


@given(st.lists(edits, min_size=1, max_size=6))
@settings(deadline=None, max_examples=30)
def test_what_was_seen_before_changes_no_bit(changes):
    policy = Conv(6, FEW)
    theta = theta_of(policy)
    act, observation = policy.bind_frames(theta), ANOTHER.copy()
    act(frames(observation))
    for top, bottom, left, right, channel, shade in changes:
        observation[top:bottom, left:right, channel:] = shade
        alone = policy.bind_frames(theta)(frames(observation))
        np.testing.assert_array_equal(act(frames(observation)), alone)


def test_every_pixel_counts_as_something_new(policy):
    theta = theta_of(policy)
    observation = screens(1, index=1)[0]
    act = policy.bind_frames(theta)
    before = act(frames(observation))
    edge = [0, 1, 2, 3, 5, 6, 40, 41, 42, 43, 77, 78, 81, 82, 83]
    for row, column in pairwise(edge + edge[::-1] + edge[::3]):
        changed = observation.copy()
        changed[row, column, row % 4] ^= 128
        y = act(frames(changed))
        assert not np.array_equal(y, before)
        np.testing.assert_array_equal(y, policy.bind_frames(theta)(frames(changed)))
        np.testing.assert_array_equal(act(frames(observation)), before)


def test_bound_networks_do_not_disturb_each_other(policy):
    one, other = theta_of(policy, 1), theta_of(policy, 2)
    x, z = (frames(observation) for observation in screens(2, index=1))
    expected = policy.bind_frames(one)(x), policy.bind_frames(other)(z)
    first, second = policy.bind_frames(one), policy.bind_frames(other)
    for _ in range(2):
        np.testing.assert_array_equal(first(x), expected[0])
        np.testing.assert_array_equal(second(z), expected[1])
        first(z)


def test_outputs_stay_as_they_are_when_the_network_is_used_again(policy):
    act = policy.bind_frames(theta_of(policy))
    x, z = (frames(observation) for observation in screens(2, index=1))
    first = act(x)
    kept = first.copy()
    act(z)
    np.testing.assert_array_equal(first, kept)


def test_the_order_of_the_reference_batch_hardly_matters(policy):
    theta, x = theta_of(policy), frames(screens(1, index=1)[0])
    y = policy.bind_frames(theta)(x)
    turned = Conv(6, policy.reference[::-1])  # not contiguous either
    np.testing.assert_allclose(turned.bind_frames(theta)(x), y, atol=1e-5 * np.abs(y).max())


def test_another_reference_batch_is_another_network(policy):
    theta, x = theta_of(policy), frames(screens(1, index=1)[0])
    other = Conv(6, screens(4, index=2))
    assert not np.allclose(other.bind_frames(theta)(x), policy.bind_frames(theta)(x))


def test_a_reference_batch_that_never_varies_is_finite():
    policy = Conv(6, np.full((3, 84, 84, 4), 87, np.uint8))
    theta, observation = theta_of(policy), screens(1)[0]
    y = policy.bind_frames(theta)(frames(observation))
    # Everything is divided by √0.001, so float32 leaves fewer digits.
    expected = plain(policy, theta, observation)
    np.testing.assert_allclose(y, expected, atol=1e-2 * np.abs(expected).max())


def test_a_channel_without_variance_is_finite(policy):
    theta = theta_of(policy)
    W1, *_ = parts(policy, theta)
    W1.reshape(256, 16)[:, 3] = 0.0
    observation = screens(1, index=1)[0]
    y, expected = policy.bind_frames(theta)(frames(observation)), plain(policy, theta, observation)
    np.testing.assert_allclose(y, expected, atol=2e-4 * np.abs(expected).max())


@pytest.mark.parametrize("layer", [0, 1, 2])
def test_with_a_dead_layer_every_observation_gives_the_same_logits(policy, layer):
    theta = theta_of(policy)
    parts(policy, theta)[4 * layer + 3][:] = -1e3  # β
    act = policy.bind_frames(theta)
    x, z = screens(2, index=1)
    y = act(frames(x))
    np.testing.assert_array_equal(act(frames(z)), y)
    expected = plain(policy, theta, x)
    np.testing.assert_allclose(y, expected, atol=2e-4 * np.abs(expected).max())


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("part", range(14))
def test_e2_a_parameter_that_is_not_finite_shows_in_the_logits(policy, part, bad):
    theta = theta_of(policy)
    part = parts(policy, theta)[part]
    part[part.size // 3] = bad
    y = policy.bind_frames(theta)(frames(screens(1, index=1)[0]))
    assert y.shape == (6,)
    assert not np.isfinite(y).all()


def test_e2_nan_shows_even_where_all_inputs_are_zero(policy):
    theta = theta_of(policy)
    every = parts(policy, theta)
    every[7][:] = -1e3  # β of the second layer: the third one sees nothing
    every[8][12_345] = np.nan
    assert np.isnan(policy.bind_frames(theta)(frames(screens(1)[0]))).all()


def test_e2_nan_in_an_observation_gives_nan(policy):
    x = flat(screens(1, index=1)[0])
    act = policy.bind(theta_of(policy), NO_MOMENTS)
    y = act(x)
    broken = x.copy()
    broken[17_000] = np.nan
    assert np.isnan(act(broken)).all()
    np.testing.assert_array_equal(act(x), y)


def test_e19_huge_parameters_do_not_crash(policy):
    theta = theta_of(policy) * np.float32(1e37)
    assert policy.bind_frames(theta)(frames(screens(1)[0])).shape == (6,)


def test_it_passes_the_check_for_policies(policy):
    check_policy(policy)


def test_e5_parameters_or_observations_of_another_shape_are_not_taken(policy):
    with pytest.raises(ValueError, match="takes theta of shape"):
        policy.bind_frames(np.zeros(policy.size - 1, np.float32))
    theta, observation = theta_of(policy), screens(1)[0]
    with pytest.raises(ValueError, match="observation must have shape"):
        policy.bind_frames(theta)(observation)
    with pytest.raises(ValueError, match="observation must have shape"):
        policy.bind(theta, NO_MOMENTS)(flat(observation)[1:])


@pytest.mark.parametrize(
    ("reference", "came"),
    [
        (np.zeros((128, 84, 84), np.uint8), r"got uint8 of shape \(128, 84, 84\)"),
        (np.zeros((128, 4, 84, 84), np.uint8), r"got uint8 of shape \(128, 4, 84, 84\)"),
        (np.zeros((1, 84, 84, 4), np.uint8), r"at least 2 .* shape \(1, 84, 84, 4\)"),
        (np.zeros((2, 84, 84, 4)), r"got float64 of shape \(2, 84, 84, 4\)"),
        ([1, 2], r"got list of shape \(2,\)"),
    ],
)
def test_e5_a_reference_batch_of_another_kind_is_refused(reference, came):
    with pytest.raises(ValueError, match=came):
        Conv(6, reference)


def test_a_policy_without_actions_is_refused():
    with pytest.raises(ValueError, match="at least 1 action, got 0"):
        Conv(0, screens(2))


PRINT_BITS = """
import numpy as np
from nses.rollouts.policies.conv import Conv
rng = np.random.default_rng(0)
policy = Conv(18, rng.integers(0, 256, (128, 84, 84, 4), np.uint8))
act = policy.bind_frames(policy.init(rng))
print(b"".join(act(rng.integers(0, 256, (4, 84, 84), np.uint8)).tobytes() for _ in range(3)).hex())
"""


@pytest.mark.slow
def test_e20_bits_do_not_depend_on_the_number_of_threads():
    seen = set()
    for threads in ("1", "2"):
        variables = {name: threads for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")}
        command = [sys.executable, "-c", PRINT_BITS]
        done = subprocess.run(
            command, env=os.environ | variables, capture_output=True, text=True, check=True
        )
        seen.add(done.stdout)
    assert len(seen) == 1
    assert len(seen.pop().strip()) == 3 * 18 * 8
