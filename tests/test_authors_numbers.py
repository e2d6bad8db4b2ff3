"""Golden numbers of somebody else: the formulas of the authors' released code, worked by hand.

Nothing here is computed by this package. The inputs stand in the tests; the results were worked out
on paper or, where there are roots, with 40 decimal digits in a separate program.
"""

from collections.abc import Sequence

import numpy as np
import pytest

from nses.core import moments, optimizers
from nses.core.algorithms import Hyperparameters, ascend
from nses.core.moments import Moments
from nses.core.novelty import novelty
from nses.core.ranks import centered_ranks
from nses.core.values import Member
from nses.rollouts.native.body import reward_terms
from nses.rollouts.native.convolution import fold
from nses.rollouts.native.network import normalize
from nses.rollouts.tasks.mujoco import BodyEnv


@pytest.mark.parametrize(
    ("x", "ordinal", "ranks"),
    [
        ([3.0, -1.0, 7.5, 0.0, 2.0], False, [0.25, -0.5, 0.5, -0.25, 0.0]),
        ([3.0, -1.0, 7.5, 0.0, 2.0], True, [0.25, -0.5, 0.5, -0.25, 0.0]),
        ([4.0, 1.0, 4.0, 4.0, 9.0], True, [-0.25, -0.5, 0.0, 0.25, 0.5]),  # in order of arrival
        ([4.0, 1.0, 4.0, 4.0, 9.0], False, [0.0, -0.5, 0.0, 0.0, 0.5]),  # ours: ties share
    ],
)
def test_centered_ranks(x: list[float], ordinal: bool, ranks: list[float]) -> None:
    np.testing.assert_array_equal(centered_ranks(x, ordinal=ordinal), ranks)


# From (1, 2) to each of these: 5, 1, 25, 10 and 0 squared.
PLACES = [[0, 0], [1, 1], [4, 6], [-2, 3], [1, 2]]


@pytest.mark.parametrize(
    ("distance", "k", "N"),
    [
        ("squared-euclidean", 3, 2.0),  # (0 + 1 + 5) / 3
        ("euclidean", 3, 1.0786893258332633),  # (0 + 1 + √5) / 3
        ("squared-euclidean", 10, 8.2),  # fewer than k: all of them
        ("euclidean", 1, 0.0),
    ],
)
def test_novelty_of_places(distance: str, k: int, N: float) -> None:
    assert novelty([1.0, 2.0], np.array(PLACES, float), k, distance) == pytest.approx(N, rel=1e-14)


def trace(*states: Sequence[int]) -> np.ndarray:
    return np.array(states, np.uint8)


@pytest.mark.parametrize(
    ("distance", "N"),
    [
        ("ram", 5.0),  # step by step 0 + 5, and 1 + 0 + 4: the shorter one keeps its last state
        ("ram-total", 4.5615528128088303),  # √(0 + 25) and √(1 + 0 + 16), whose mean this is
    ],
)
def test_novelty_of_memory(distance: str, N: float) -> None:
    A = [trace([0, 0]), trace([1, 0], [3, 4], [3, 0]), trace([255, 255], [255, 255])]
    b = trace([0, 0], [3, 4])
    assert novelty(b, A, 2, distance) == pytest.approx(N, rel=1e-14)


def test_bytes_do_not_wrap_around() -> None:
    assert novelty(trace([0]), [trace([255])], 1, "ram") == 255.0


def test_adam_with_weight_decay() -> None:
    """Their gradient lacks 1/σ and their decay is 0.005; ours has both over σ (adr/0001)."""
    sums = [[0.03, -0.01, 0.0], [-0.02, -0.04, 0.01], [0.01, 0.02, 0.005]]  # Σ F ε / n
    theirs = [
        [0.5099998850, -1.2599991568, 1.9900003162],
        [0.5104603524, -1.2681355209, 1.9833372521],
        [0.5121191192, -1.2691812900, 1.9758952671],
    ]
    h = Hyperparameters(n=2, sigma=0.02, lr=0.01, l2=0.005)
    theta = np.array([0.5, -1.25, 2.0], np.float32)
    member = Member(theta, optimizers.initial(3), moments.initial(0), np.empty(0))
    for g, expected in zip(sums, theirs, strict=True):
        member = ascend(member, np.array(g) / h.sigma, h)
        np.testing.assert_allclose(member.theta, expected, rtol=1e-6)  # their 1e-8 weighs 1/σ more


def test_observations_are_normalised_and_clipped_at_5() -> None:
    """Of 1, 2, 4 and 9, after a hundredth of an observation of variance 1; then a constant."""
    seen = moments.initial(2).merge(Moments(4, np.array([16.0, 12.0]), np.array([102.0, 36.0])))
    assert seen.mean[0] == pytest.approx(3.9900249376558603, rel=1e-14)
    assert seen.std[0] == pytest.approx(3.0852234505828735, rel=1e-12)
    x = np.empty(2, np.float32)
    normalize(np.array([9.0, seen.mean[1] + 0.25]), seen.mean, seen.std, x)
    np.testing.assert_allclose(x, [1.6238613, 0.25 / seen.std[1]], rtol=1e-6)
    normalize(np.array([-20.0, 1e9]), seen.mean, seen.std, x)  # -7.78 and far too much
    np.testing.assert_array_equal(x, [-5.0, 5.0])


def test_the_variance_of_an_observation_is_at_least_a_hundredth() -> None:
    constant = Moments(10.0, np.array([30.0]), np.array([90.0]))
    np.testing.assert_allclose(constant.std, [0.1], rtol=1e-15)
    x = np.empty(1, np.float32)
    normalize(np.array([3.25]), constant.mean, constant.std, x)
    assert x[0] == np.float32(2.5)


def test_virtual_batch_norm() -> None:
    """γ (y + b - mean) / √(variance + 0.001) + β, moments of the reference batch alone."""
    y = np.array([[1, 10], [2, 30], [3, 20], [6, 40]], np.float32)  # means 3, 25; 3.5, 125
    b, gamma, beta = [0.5, -1.0], [2.0, 1.0], [0.1, -0.2]
    norm = np.zeros((2, 2), np.float32)
    fold(y, 1.0, np.array([*b, *gamma, *beta], np.float32), 0, norm)
    scale, shift = norm
    np.testing.assert_allclose(
        scale * np.array([4.0, 5.0]) + shift, [1.16889228, -1.98884723], rtol=1e-6
    )


@pytest.mark.parametrize(
    ("reward", "forward"),
    [
        ("isotropic", 41.666666666666664),  # 0.25 · (1.0 - 0.5) / 0.003
        ("directional", 25.0),  # 0.25 · 0.3 / 0.003
    ],
)
def test_the_humanoid_is_paid_for_leaving_the_origin(reward: str, forward: float) -> None:
    """From (0.3, 0.4) to (0.6, 0.8), two actuators at 0.4 and -0.2, forces 1000 and 2000."""
    environment = BodyEnv(body="humanoid", reward=reward)
    r = environment.reward
    terms = reward_terms(
        np.array([0.4, -0.2]),
        np.array([[1000.0, 0.0], [0.0, 2000.0]]),
        (r.forward, r.control, r.contact, r.alive, r.isotropic),
        0.3,
        0.4,
        0.6,
        0.8,
    )
    np.testing.assert_allclose(terms, [forward, -0.02, -2.5, 5.0], rtol=1e-12)


def test_the_cost_of_contact_ends_at_10() -> None:
    r = BodyEnv(body="humanoid", reward="isotropic").reward
    rates = (r.forward, r.control, r.contact, r.alive, r.isotropic)
    *_, contact, _ = reward_terms(np.zeros(1), np.array([[1e6]]), rates, 0.0, 0.0, 0.0, 0.0)
    assert contact == -10.0
