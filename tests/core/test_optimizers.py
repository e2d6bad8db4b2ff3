import numpy as np
import pytest

from nses.core.optimizers import OPTIMIZERS, adam, clipup, initial, sgd
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


def test_clipup_is_momentum_of_unit_gradients_with_a_speed_limit():
    theta, v = np.zeros(D), np.zeros(D)
    for g in gradients(100):
        v = 0.9 * v + 0.01 * g / np.linalg.norm(g)
        v = v * min(1.0, 0.02 / np.linalg.norm(v))
        theta = theta + v
    np.testing.assert_allclose(climb(clipup, 100, 0.01)[0], theta, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("size", [1e-300, 1e-3, 1e3, 1e300])
def test_the_size_of_a_gradient_means_nothing_to_clipup(size):
    g, state = np.array([3.0, -4.0]) * size, initial(2)
    theta, state = clipup(np.zeros(2, np.float32), g, state, 0.5)
    np.testing.assert_allclose(theta, [0.3, -0.4], rtol=1e-6)
    theta, state = clipup(theta, g, state, 0.5)  # 0.9 + 1 steps: still within 2
    np.testing.assert_allclose(theta, [0.87, -1.16], rtol=1e-6)
    before, (theta, _) = theta, clipup(theta, g, state, 0.5)
    np.testing.assert_allclose(theta - before, [0.6, -0.8], rtol=1e-6)  # at the limit, 2 · 0.5


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_every_optimizer_climbs_a_hill(name):
    top = np.array([1.0, -2.0, 0.5])
    theta, state = np.zeros(3, np.float32), initial(3)
    for t in range(500):  # ever smaller steps: ClipUp's are as long at the top as on the way
        theta, state = OPTIMIZERS[name](theta, top - theta, state, 0.05 * 0.99**t)
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


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_step_of_size_zero_leads_nowhere(name):
    theta = np.linspace(-1, 1, D, dtype=np.float32)
    moved, _ = OPTIMIZERS[name](theta, np.ones(D), initial(D), 0.0)
    np.testing.assert_array_equal(moved, theta)
