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


class Screen(gym.Env[Any, Any]):
    """A white dot that is moved over a black screen, and paid for going right."""

    action_space = spaces.Discrete(4)

    def __init__(self, shape: tuple[int, ...] = (64, 64, 3)):
        self.observation_space: spaces.Space[Any] = spaces.Box(0, 255, tuple(shape), np.uint8)
        self.side = max(shape)
        self.rows, self.columns = (i for i, side in enumerate(shape) if side == self.side)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.place = self.np_random.integers(0, self.side, 2)
        return self.look(), self._info()

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        before = self.place[1]
        move = np.array([(0, 4), (0, -4), (4, 0), (-4, 0)])[action]
        self.place = np.clip(self.place + move, 0, self.side - 1)
        return self.look(), float(self.place[1] - before), False, False, self._info()

    def _info(self) -> dict[str, Any]:
        return {"x": int(self.place[1]), "y": int(self.place[0]), "note": "a dot"}

    def look(self) -> Any:
        return self.drawn(self.observation_space.shape or ())

    def drawn(self, shape: tuple[int, ...]) -> Any:
        screen = np.zeros(shape, np.uint8)
        lines = np.moveaxis(screen, (self.rows, self.columns), (0, 1))
        y, x = self.place
        lines[max(0, y - 3) : y + 4, max(0, x - 3) : x + 4] = 255
        return screen
