"""A task of your own: an environment, its behavior, and a policy that solves it.

A walker on a ridge is rewarded for height. On its left is a small hill; on its right, behind a
valley, is a high mountain. Reward alone leads up the small hill; novelty leads on to the mountain.

    python examples/custom_task.py
"""

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

import nses

HILL, MOUNTAIN = -1.0, 4.0


def height(x: float) -> float:
    return float(np.exp(-((x - HILL) ** 2)) + 3.0 * np.exp(-((x - MOUNTAIN) ** 2)))


class Ridge(gym.Env[Any, Any]):
    """Steps of at most 0.2 along a line; the rewards of an episode sum to the height gained."""

    def __init__(self) -> None:
        self.observation_space = spaces.Box(-20.0, 20.0, (1,), np.float64)
        self.action_space = spaces.Box(-1.0, 1.0, (1,), np.float32)
        self.x = 0.0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed, options=options)
        self.x = float(self.np_random.normal(0.0, 0.1))
        return np.array([self.x]), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        before = height(self.x)
        self.x += 0.2 * float(action[0])
        return np.array([self.x]), height(self.x) - before, False, False, {}


def place(observation: Any, info: dict[str, Any]) -> list[float]:
    """The behavior, measured after the last step: where the walker stands."""
    return [observation[0]]


def main() -> None:
    task = nses.Task("ridge", make=Ridge, behavior=nses.Behavior("place", place), step_limit=50)
    nses.check_task(task)  # raises an error that says what is wrong, if anything is

    run = nses.train(task, algorithm="nsr-es", seed=1, generations=120, n=40, hidden=(8,))

    policy = nses.load(run.path).policy("best")
    environment = Ridge()
    observation, _ = environment.reset(seed=0)
    for _ in range(task.step_limit):
        observation, *_ = environment.step(policy(observation))
    print(f"The best policy walks to {observation[0]:.2f}, at height {height(observation[0]):.2f}.")
    print(f"The hill is at {HILL}, the mountain at {MOUNTAIN}.")


if __name__ == "__main__":
    main()
