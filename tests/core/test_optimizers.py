import numpy as np
import pytest

from nses.core.optimizers import OPTIMIZERS, adam, initial, sgd
from nses.core.seeding import Purpose, generator

D = 50


def gradients(steps):
    rng = generator(0, 0, 0, Purpose.POLICY_INIT)
    return rng.standard_normal((steps, D)) * 10.0 ** rng.integers(-3, 4, D)


def climb(optimizer, steps, lr):
    theta, state = np.zeros(D, np.float32), initial(D)
    for g in gradients(steps):
        theta, state = optimizer(theta, g, state, lr)
    return theta, state


def test_adam_is_algorithm_1_of_kingma_and_ba_uphill():
    theta, m, v = np.zeros(D), np.zeros(D), np.zeros(D)
    for t, g in enumerate(gradients(100), start=1):
        m = 0.9 * m + (1 - 0.9) * g
        v = 0.999 * v + (1 - 0.999) * g**2
        m_hat = m / (1 - 0.9**t)
        v_hat = v / (1 - 0.999**t)
        theta = theta + 0.01 * m_hat / (np.sqrt(v_hat) + 1e-8)
    np.testing.assert_allclose(climb(adam, 100, 0.01)[0], theta, rtol=1e-3, atol=1e-6)


def test_the_first_step_of_adam_is_lr_in_each_coordinate():
    g = np.array([1e-3, -1.0, 1e6])
    theta, _ = adam(np.zeros(3, np.float32), g, initial(3), 0.01)
    np.testing.assert_allclose(theta, [0.01, -0.01, 0.01], rtol=1e-3)


def test_sgd_follows_the_running_mean_of_the_gradient():
    theta, m = np.zeros(D), np.zeros(D)
    for g in gradients(100):
        m = 0.9 * m + 0.1 * g
        theta = theta + 0.01 * m
    np.testing.assert_allclose(climb(sgd, 100, 0.01)[0], theta, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_every_optimizer_climbs_a_hill(name):
    top = np.array([1.0, -2.0, 0.5])
    theta, state = np.zeros(3, np.float32), initial(3)
    for _ in range(500):
        theta, state = OPTIMIZERS[name](theta, top - theta, state, 0.05)
    np.testing.assert_allclose(theta, top, atol=0.01)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_theta_and_state_stay_float32_and_steps_are_counted(name):
    theta, state = climb(OPTIMIZERS[name], 3, 0.01)
    assert theta.dtype == state.m.dtype == state.v.dtype == np.float32
    assert state.t == 3


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_step_changes_neither_theta_nor_state_in_place(name):
    theta, state = climb(OPTIMIZERS[name], 3, 0.01)
    before = [x.tobytes() for x in (theta, state.m, state.v)]
    OPTIMIZERS[name](theta, np.ones(D), state, 0.01)
    assert [x.tobytes() for x in (theta, state.m, state.v)] == before


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_e12_without_a_gradient_theta_rests(name):
    theta = np.linspace(-1, 1, D, dtype=np.float32)
    moved, _ = OPTIMIZERS[name](theta, np.zeros(D), initial(D), 0.01)
    np.testing.assert_array_equal(moved, theta)
