"""A small environment to test with, and to break in every way."""

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from nses.rollouts.behaviors import Behavior, parse_behavior
from nses.rollouts.tasks.task import Task


class Corridor(gym.Env[Any, Any]):
    """A step to the left (0) or right (1), from a random place; over at three steps from zero."""

    def __init__(self, width: float = 3.0):
        self.width, self.x = width, 0.0
        self.observation_space = spaces.Box(-100.0, 100.0, (2,), np.float64)
        self.action_space: spaces.Space[Any] = spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.x = float(self.np_random.uniform(-0.5, 0.5))
        return self.look(), {"x": self.x}

    def step(self, action: Any) -> Any:
        self.x += 2.0 * action - 1.0
        return self.look(), self.x, abs(self.x) >= self.width, False, {"x": self.x}

    def look(self) -> Any:
        return np.array([self.x, self.x * self.x])


class Endless(Corridor):
    """Never over."""

    def __init__(self) -> None:
        super().__init__(width=np.inf)

    def look(self) -> Any:
        return np.clip([self.x, 1.0], -100.0, 100.0)


class Arm(Corridor):
    """The same with a continuous action, which must lie in its Box."""

    def __init__(self) -> None:
        super().__init__(width=50.0)
        self.action_space = spaces.Box(-0.5, 0.5, (1,), np.float32)

    def step(self, action: Any) -> Any:
        assert self.action_space.contains(action), action
        return super().step(0.5 + float(action[0]))


def corridor(**changes: Any) -> Task:
    """The corridor as a task, with those changes."""
    sound = {
        "name": "corridor",
        "make": Corridor,
        "behavior": parse_behavior("final:x"),
        "step_limit": 20,
    }
    return Task(**{**sound, **changes})


def where(observation: Any, info: dict[str, Any]) -> list[float]:
    return [info["x"]]


CORRIDOR = corridor()
WHERE = Behavior("where", where, "mean")
NOT_CALLABLE = 7
