"""Environments as strangers write them: of kinds that the shipped tasks do not have."""

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces


class Levers(gym.Env[Any, Any]):
    """Several levers at once; pays for those that stand as the lamps show."""

    observation_space = spaces.MultiBinary(3)
    action_space = spaces.MultiDiscrete([2, 3])

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.pulled = np.zeros(2)
        return self._look(), {"pulled": self.pulled}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        paid = float(action[0] == self.lamps[0]) + float(action[1] == self.lamps[1:].sum())
        self.pulled = self.pulled + action
        return self._look(), paid, False, False, {"pulled": self.pulled}

    def _look(self) -> Any:
        self.lamps = self.np_random.integers(0, 2, 3, np.int8)
        return self.lamps
