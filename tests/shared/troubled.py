"""Environments in trouble, named on the command line as `troubled:NAME`."""

import os
import tempfile

import gymnasium as gym
import numpy as np
from gymnasium import spaces


class Calm(gym.Env):
    """One number in, one number out; ten steps."""

    observation_space = spaces.Box(-10.0, 10.0, (2,), np.float64)
    action_space = spaces.Box(-1.0, 1.0, (1,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return self.np_random.uniform(-1, 1, 2), {}

    def step(self, action):
        self.steps += 1
        return self.np_random.uniform(-1, 1, 2), self.reward(action), self.steps >= 10, False, {}

    def reward(self, action):
        return float(action[0])


class Wider(Calm):
    """Shows more than Calm."""

    observation_space = spaces.Box(-10.0, 10.0, (3,), np.float64)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.zeros(3), {}

    def step(self, action):
        return np.zeros(3), 0.0, True, False, {}


class Blind(Calm):
    """Shows nothing."""

    observation_space = spaces.Box(-1.0, 1.0, (0,), np.float64)


class Idle(Calm):
    """Has nothing to do."""

    action_space = spaces.Box(-1.0, 1.0, (0,), np.float32)


class Spaceless(gym.Env):
    """Does not say what it shows and takes."""


class Empty(Calm):
    """Says it later."""

    action_space = None


class Clinging(Calm):
    """Fails to close."""

    def close(self):
        raise OSError("the window is stuck")


class Wandering(Calm):
    """Goes to another directory with every episode."""

    def reset(self, *, seed=None, options=None):
        os.chdir(tempfile.gettempdir())
        return super().reset(seed=seed)


class Unpaid(Calm):
    """Returns that are not numbers."""

    def reward(self, action):
        return float("nan")


class SometimesUnpaid(Calm):
    """One episode in five returns NaN, but never the first ones of seed 0's members."""

    def reward(self, action):
        return float("nan") if self.np_random.random() < 0.02 else 1.0


class Raising(Calm):
    def step(self, action):
        raise RuntimeError("the motor is on fire")


class Endless(Calm):
    """Has no step limit of its own."""

    def step(self, action):
        return self.np_random.uniform(-1, 1, 2), 0.0, False, False, {}


class Huge(Calm):
    """Returns near the largest float."""

    def reward(self, action):
        return 1e307 * float(action[0])


class Strange(Calm):
    """Actions that no network gives."""

    action_space = spaces.Text(5)


class Remembering(Calm):
    """Ends sooner or later, and shows a memory of eight bytes on the way."""

    def reset(self, *, seed=None, options=None):
        observation, info = super().reset(seed=seed)
        self.end = int(self.np_random.integers(1, 11))
        self.memory = self.np_random.integers(0, 256, 8, np.uint8)
        return observation, info

    def step(self, action):
        observation, reward, *_ = super().step(action)
        self.memory[self.steps % 8] = int(100 * (1 + float(action[0])))
        info = {"memory": self.memory.copy()}
        return observation, reward, self.steps >= self.end, False, info
