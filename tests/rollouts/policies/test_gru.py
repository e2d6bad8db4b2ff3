"""The network that remembers."""

import numpy as np
import pytest

from nses.core.moments import Moments, initial
from nses.core.seeding import Purpose, generator
from nses.rollouts.policies.gru import GRU
from nses.rollouts.policies.mlp import MLP
from nses.rollouts.policy_conformance import check_policy, remembers
from nses.rollouts.tasks.catalog import make_task


def theta_of(policy):
    return policy.init(generator(0, 0, 0, Purpose.POLICY_INIT))


@pytest.mark.parametrize(
    "policy", [GRU((6, 3, 2)), GRU((6, 5, 4, 3, 2), "relu"), GRU((6, 9, 2), normalize=False)]
)
def test_it_is_sound_and_remembers(policy):
    check_policy(policy, make_task("point-trap"))
    assert remembers(policy)
    assert not remembers(MLP((6, 3, 2)))


def test_its_parameters_are_counted_layer_by_layer():
    assert GRU((6, 5, 4, 2)).layers == ((6, 5), (9, 8), (9, 4), (4, 2))
    assert GRU((6, 5, 4, 2)).size == 7 * 5 + 10 * 8 + 10 * 4 + 5 * 2


def test_units_begin_at_zero_in_every_episode_and_forget_slowly():
    policy = GRU((1, 4, 1), normalize=False)
    theta, moments = theta_of(policy), initial(1)
    once, other = policy.bind(theta, moments), policy.bind(theta, moments)
    cue, nothing = np.ones(1), np.zeros(1)
    once(cue)
    remembered = [once(nothing) for _ in range(3)]
    forgotten = [other(nothing) for _ in range(3)]
    assert all((a != b).all() for a, b in zip(remembered, forgotten, strict=True))
    W_and_b = theta[: (5 + 1) * 8]
    np.testing.assert_array_equal(W_and_b[-8:], [0, 0, 0, 0, 1, 1, 1, 1])


def test_observations_are_standardized_and_clipped():
    policy, raw = GRU((1, 3, 1)), GRU((1, 3, 1), normalize=False)
    theta = theta_of(policy)
    moments = Moments(4, np.array([8.0]), np.array([32.0]))  # mean 2, std 2
    given = {4.0: 1.0, 1e9: 5.0}
    for observation, standardized in given.items():
        y = policy.bind(theta, moments)(np.array([observation]))
        np.testing.assert_array_equal(y, raw.bind(theta, moments)(np.array([standardized])))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: GRU((3, 2)), "at least one hidden layer"),
        (lambda: GRU((3, 0, 2)), "at least 1 unit"),
        (lambda: GRU((3, 2, 2), "sine"), "activation must be tanh or relu"),
        (lambda: GRU((3, 2, 2)).bind(np.zeros(3, np.float32), initial(3)), "takes theta of shape"),
        (lambda: GRU((1, 1, 1)).bind(np.zeros(11, np.float32), initial(2)), "takes moments"),
    ],
)
def test_what_does_not_fit_is_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        wrong()


def test_an_observation_of_another_length_is_refused():
    policy = GRU((3, 2, 2))
    with pytest.raises(ValueError, match="as many numbers"):
        policy.bind(theta_of(policy), initial(3))(np.zeros(4))
