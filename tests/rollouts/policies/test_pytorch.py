"""Torch modules as policies."""

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete

from nses.core.moments import Moments, initial
from nses.core.seeding import Purpose, generator
from nses.errors import UsageError
from nses.rollouts.policies.own import policy_from
from nses.rollouts.policies.pytorch import TorchPolicy
from nses.rollouts.policy_conformance import check_policy, remembers
from nses.rollouts.tasks.catalog import make_task

torch = pytest.importorskip("torch", reason="needs the extra torch")
nn = torch.nn
FACTS = make_task("point").facts


def theta_of(policy, seed=0):
    return policy.init(generator(seed, 0, 0, Purpose.POLICY_INIT))


@pytest.mark.parametrize(
    ("name", "memory"),
    [("Net", False), ("Remembers", True), ("RemembersInside", True), ("Frozen", False)],
)
def test_modules_of_every_kind_are_sound(name, memory):
    policy = policy_from(f"torch_networks:{name}", FACTS)
    check_policy(policy, make_task("point"))
    assert remembers(policy) is memory


def test_theta_is_the_parameters_in_their_order_row_by_row():
    policy = TorchPolicy(nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1)), normalize=False)
    assert (policy.size, policy.observation_size, policy.moments_size) == (13, 2, 0)
    theta = np.arange(13, dtype=np.float32)
    x = np.array([1.0, -1.0])
    hidden = theta[:6].reshape(3, 2) @ x + theta[6:9]
    y = policy.bind(theta, initial(0))(x)
    np.testing.assert_allclose(y, theta[9:12] @ hidden + theta[12:])
    assert y.dtype == np.float32


def test_fresh_parameters_are_those_of_torch_and_differ_between_members_only():
    policy = TorchPolicy(nn.Sequential(nn.Linear(4, 3)))
    state = torch.random.get_rng_state()
    one, again, other = (theta_of(policy, seed) for seed in (1, 1, 2))
    assert torch.equal(state, torch.random.get_rng_state())
    np.testing.assert_array_equal(one, again)
    assert (one != other).all()
    assert np.abs(one).max() <= 0.5  # 1 / √inputs


def test_a_module_may_say_itself_how_it_begins():
    class Zeros(nn.Linear):
        def reset_parameters(self):
            nn.init.zeros_(self.weight)
            nn.init.ones_(self.bias)

    assert theta_of(TorchPolicy(Zeros(2, 1))).tolist() == [0, 0, 1]


def test_frozen_parameters_are_not_trained_and_the_same_whenever_the_module_is_made():
    one, two = (policy_from("torch_networks:Frozen", FACTS) for _ in range(2))
    assert one.size == 3 * 2 + 2
    theta, x = theta_of(one), np.arange(6.0)
    np.testing.assert_array_equal(one.bind(theta, initial(6))(x), two.bind(theta, initial(6))(x))


def test_vectors_are_standardized_as_for_the_built_in_networks():
    policy = TorchPolicy(nn.Linear(1, 1))
    moments = Moments(4, np.array([8.0]), np.array([32.0]))  # mean 2, std 2
    act = policy.bind(np.array([1.0, 0.0], np.float32), moments)
    assert [float(act(np.array([x]))[0]) for x in (4.0, 2.0, 1e9)] == [1.0, 0.0, 5.0]


def test_a_module_gets_images_in_their_shape_and_raw():
    policy = TorchPolicy(nn.Sequential(nn.Flatten(), nn.Linear(12, 2)))
    fitting = policy.fitting(Box(0, 255, (2, 2, 3), np.uint8))
    assert (fitting.input_shape, fitting.moments_size) == ((2, 2, 3), 0)
    assert fitting.bind(theta_of(fitting), initial(0))(np.zeros(12)).shape == (2,)
    assert policy.fitting(Discrete(12)).input_shape == (12,)
    assert TorchPolicy(policy.module, shape=(12,)).fitting(Box(0, 1, (2, 6))).shape == (12,)


def test_it_computes_on_one_thread_and_leaves_the_users_setting_alone():
    seen = []

    class Looks(nn.Linear):
        def forward(self, x):
            seen.append((torch.get_num_threads(), torch.is_grad_enabled(), self.training))
            return super().forward(x)

    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        policy = TorchPolicy(Looks(2, 1))
        policy.bind(theta_of(policy), initial(2))(np.zeros(2))
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    assert seen == [(1, False, False)]


def test_a_read_only_theta_does():
    policy = TorchPolicy(nn.Linear(2, 1))
    theta = theta_of(policy)
    theta.setflags(write=False)
    assert policy.bind(theta, initial(2))(np.zeros(2)).shape == (1,)


@pytest.mark.parametrize(
    ("module", "message"),
    [
        (lambda: "net", r"takes a torch\.nn\.Module, got 'net'"),
        (lambda: nn.Linear(2, 1).double(), r"float32 \(module\.float\(\)\).*torch\.float64"),
        (lambda: nn.Linear(2, 1).requires_grad_(False), "with requires_grad, got none"),
        (nn.Tanh, "with requires_grad, got none"),
    ],
)
def test_a_module_that_cannot_be_trained_is_refused(module, message):
    with pytest.raises(UsageError, match=message):
        TorchPolicy(module())


@pytest.mark.parametrize(
    ("module", "message"),
    [
        (lambda: nn.GRUCell(2, 3), r"must return \(outputs, state\), got Tensor"),
        (lambda: nn.Sequential(nn.Linear(2, 3), nn.Flatten(0)), r"got Tensor of shape \(3,\)"),
        (lambda: nn.Conv1d(1, 1, 1), "does not say what it takes; give TorchPolicy a shape"),
    ],
)
def test_check_policy_says_what_is_wrong_with_a_module(module, message):
    with pytest.raises(UsageError, match=message):
        check_policy(TorchPolicy(module()))
