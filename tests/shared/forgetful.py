"""Environments whose episodes depend on more than their seed: `forgetful:NAME`."""

import random

import numpy as np

from troubled import Calm


class Remembers(Calm):
    """The first episode that it plays decides how all are paid."""

    start = None

    def reset(self, *, seed=None, options=None):
        observation, info = super().reset(seed=seed)
        self.start = observation[0] if self.start is None else self.start
        return observation, info

    def reward(self, action):
        return float(action[0]) + self.start


class Rolls(Calm):
    """Draws from the generators that belong to everybody."""

    def reward(self, action):
        return float(action[0]) + random.random() + np.random.normal()  # noqa: NPY002
