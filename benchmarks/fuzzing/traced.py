"""An environment whose behavior is a trace: a memory of eight bytes at every step."""

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces


class Remembering(gym.Env[Any, Any]):
    """Ends sooner or later, and remembers what was done."""

    observation_space = spaces.Box(-1.0, 1.0, (2,), np.float64)
    action_space = spaces.Box(-1.0, 1.0, (1,), np.float32)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.steps, self.end = 0, int(self.np_random.integers(1, 11))
        self.memory = self.np_random.integers(0, 256, 8, np.uint8)
        return self.np_random.uniform(-1, 1, 2), {"memory": self.memory.copy()}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.steps += 1
        self.memory[self.steps % 8] = int(100 * (1 + float(action[0])))
        info = {"memory": self.memory.copy()}
        over = self.steps >= self.end
        return self.np_random.uniform(-1, 1, 2), float(action[0]), over, False, info
