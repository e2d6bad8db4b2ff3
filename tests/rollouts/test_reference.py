"""Random play, on a counter that shows how many steps have passed."""

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from nses.rollouts.behaviors import parse_behavior
from nses.rollouts.reference import random_observations
from nses.rollouts.tasks.task import Task


class Counter(gym.Env):
    """Observations are steps so far, the last action, and the seed modulo 200; 30 steps each."""

    observation_space = spaces.Box(0, 255, (3,), np.uint8)
    action_space = spaces.Discrete(5)
    closed = 0

    def __init__(self):
        self.image = np.zeros(3, np.uint8)  # which it uses again and again

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.image[:] = 0, 0, seed % 200
        return self.image, {}

    def step(self, action):
        self.image[:2] = self.image[0] + 1, action
        return self.image, 0.0, bool(self.image[0] == 30), False, {}

    def close(self):
        Counter.closed += 1


def play(seed, count, limit=1000, **sampling):
    task = Task("counter", Counter, parse_behavior("final-observation"), limit)
    return random_observations(task, count, np.random.default_rng(seed), **sampling)


def test_random_play_is_kept_here_and_there_and_comes_from_its_random_numbers_alone():
    before = Counter.closed
    kept = play(1, 200)
    assert Counter.closed == before + 1
    assert (kept.shape, kept.dtype) == ((200, 3), np.uint8)
    np.testing.assert_array_equal(kept, play(1, 200))
    np.testing.assert_array_equal(kept[:50], play(1, 50))
    assert (kept != play(2, 200)).any()
    assert set(kept[:, 0]) <= set(range(1, 31))
    assert len(set(kept[:, 0])) > 25
    assert set(kept[:, 1]) == set(range(5))
    assert len(set(kept[:, 2])) > 100  # nearly every episode has another seed


def test_episodes_of_random_play_end_at_the_step_limit():
    assert play(1, 100, limit=7)[:, 0].max() == 7


def test_random_play_may_be_kept_from_the_first_step_on():
    kept = play(1, 70, sampling="consecutive")
    assert kept[:, 0].tolist() == [*range(1, 31), *range(1, 31), *range(1, 11)]
    assert len(set(kept[:30, 2])) == 1
    np.testing.assert_array_equal(kept, play(1, 70, sampling="consecutive"))
