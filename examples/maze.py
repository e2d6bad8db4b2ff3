"""A maze with two dead ends, drawn as text, in which greed does not find the goal.

The straight way to the goal ends in a pocket beside it, where reward alone gets stuck. Draw another
maze and train again:

    python examples/maze.py
"""

from math import hypot
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

import nses

MAZE = """
###########
#.........#
#.#######.#
#.#.....#.#
#S......#G#
#.#.....#.#
#.#######.#
#...#.....#
###########
"""

SPEED = 0.25  # cells per step, at most
FOUND = 10.0  # the reward for the goal


class Maze(gym.Env[Any, Any]):
    """A robot that knows its place and its distance to the walls, rewarded for nearing the goal."""

    def __init__(self, drawing: str = MAZE) -> None:
        self.rows = drawing.split()
        self.width, self.height = len(self.rows[0]), len(self.rows)
        self.start, self.goal = self.find("S"), self.find("G")
        self.observation_space = spaces.Box(0.0, 1.0, (6,), np.float64)
        self.action_space = spaces.Box(-1.0, 1.0, (2,), np.float32)
        self.x, self.y = self.start

    def find(self, letter: str) -> tuple[float, float]:
        """The middle of the cell with this letter."""
        y = next(y for y, row in enumerate(self.rows) if letter in row)
        return self.rows[y].index(letter) + 0.5, y + 0.5

    def is_wall(self, x: float, y: float) -> bool:
        return self.rows[int(y)][int(x)] == "#"

    def view(self, dx: int, dy: int) -> float:
        """Free cells in this direction, as a fraction of the maze's size."""
        cells = 0
        while not self.is_wall(self.x + cells * dx, self.y + cells * dy):
            cells += 1
        return cells / max(self.width, self.height)

    def look(self) -> tuple[Any, dict[str, Any]]:
        place = self.x / self.width, self.y / self.height
        walls = [self.view(*direction) for direction in ((1, 0), (-1, 0), (0, 1), (0, -1))]
        return np.array([*place, *walls]), {"x": self.x, "y": self.y}

    def distance(self) -> float:
        return hypot(self.goal[0] - self.x, self.goal[1] - self.y)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed, options=options)
        self.x, self.y = self.start + self.np_random.uniform(-0.2, 0.2, 2)
        return self.look()

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        before = self.distance()
        dx, dy = SPEED * np.clip(action, -1.0, 1.0)
        if not self.is_wall(self.x + dx, self.y):  # x before y, so that it slides along walls
            self.x += float(dx)
        if not self.is_wall(self.x, self.y + dy):
            self.y += float(dy)
        found = self.distance() < 0.5
        reward = before - self.distance() + FOUND * found
        observation, info = self.look()
        return observation, reward, found, False, info


def place(observation: Any, info: dict[str, Any]) -> list[float]:
    return [info["x"], info["y"]]


task = nses.Task("maze", make=Maze, behavior=nses.Behavior("place", place), step_limit=120)


def main() -> None:
    for algorithm in ("es", "nsra-es"):
        run = nses.train(task, algorithm=algorithm, seed=1)
        print(f"{algorithm} {'finds' if run.best.score > FOUND else 'does not find'} the goal.")


if __name__ == "__main__":
    main()
