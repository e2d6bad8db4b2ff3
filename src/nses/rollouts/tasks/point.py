"""`point-trap`: a point robot with inertia in front of the paper's three walls."""

import math
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from nses.core.moments import Moments
from nses.rollouts.episode import Episode, action_noise_of
from nses.rollouts.native.network import ACTIVATIONS
from nses.rollouts.native.point import (
    ACTIONS,
    COS,
    HEADING,
    OBSERVATIONS,
    RADIUS,
    SIN,
    X,
    Y,
    advance,
    episode,
    observe,
    walls_of,
)
from nses.rollouts.policies import Policy
from nses.rollouts.policies.mlp import MLP
from nses.rollouts.tasks.task import Task

STEPS = 300
HALF_WIDTH = 1.75
OUTSIDE = 5.5 + RADIUS  # x beyond which the robot has left the trap
START_NOISE = 0.1
BEHAVIOR = "final:x,y"
BOUNDS = np.array([100.0, 100.0, 1.0, 1.0, 10.0, 10.0])  # of observations; never near in STEPS


class PointTrapEnv(gym.Env[NDArray[np.float64], NDArray[np.float32]]):
    """A unicycle starts at the origin and is paid for x; the shortest way ends in a trap.

    Actions: throttle and turn in [-1, 1], with motor noise. The rewards of an episode sum to its
    final x. `half_width` is half the distance between the side walls (1.5 in the paper).
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 30}

    def __init__(self, half_width: float = HALF_WIDTH, render_mode: str | None = None):
        if not 2 * RADIUS < half_width < 100:
            raise ValueError(f"half_width must lie between {2 * RADIUS} and 100, got {half_width}.")
        self.half_width = half_width
        self.render_mode = render_mode
        self.walls = walls_of(half_width)
        self.observation_space = spaces.Box(-BOUNDS, BOUNDS, dtype=np.float64)
        self.action_space = spaces.Box(-1.0, 1.0, (ACTIONS,), np.float32)
        self.state = np.zeros(7)
        self.rewarded_x = 0.0
        self.path: list[tuple[float, float]] = []

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float64], dict[str, Any]]:
        super().reset(seed=seed, options=options)
        self.state = start_state(self.np_random)
        self.rewarded_x = 0.0
        self.path = [(float(self.state[X]), float(self.state[Y]))]
        return self._observation(), self._info()

    def step(
        self, action: NDArray[np.float32]
    ) -> tuple[NDArray[np.float64], float, bool, bool, dict[str, Any]]:
        motor = self.np_random.standard_normal(ACTIONS)
        advance(self.state, action[0], action[1], motor, self.walls)
        x = float(self.state[X])
        reward, self.rewarded_x = x - self.rewarded_x, x
        self.path.append((x, float(self.state[Y])))
        return self._observation(), reward, False, False, self._info()

    def render(self) -> NDArray[np.uint8] | None:  # type: ignore[override]
        if self.render_mode != "rgb_array":
            return None
        return draw(self.walls, self.path, float(self.state[HEADING]))

    def _observation(self) -> NDArray[np.float64]:
        out = np.empty(OBSERVATIONS)
        observe(self.state, out)
        return out

    def _info(self) -> dict[str, Any]:
        return {"x": float(self.state[X]), "y": float(self.state[Y])}


def start_state(rng: np.random.Generator) -> NDArray[np.float64]:
    """x, y and heading within 0.1 of zero, at rest."""
    state = np.zeros(7)
    state[:3] = rng.uniform(-START_NOISE, START_NOISE, 3)
    state[COS], state[SIN] = math.cos(state[HEADING]), math.sin(state[HEADING])
    return state


class PointPlayer:
    """Whole episodes of the point robot in compiled code, bit for bit those of the environment."""

    def __init__(self, task: Task, policy: MLP, half_width: float):
        self.policy, self.size, self.steps = policy, policy.size, task.step_limit
        self.walls, self.work = walls_of(half_width), policy.buffers()

    def play(
        self,
        theta: NDArray[np.float32],
        moments: Moments,
        seed: int,
        *,
        action_noise: float = 0.0,
        contributes: bool = False,
    ) -> Episode:
        assert theta.size == self.size
        rng = np.random.Generator(np.random.PCG64(seed))  # as gymnasium.Env.reset(seed) makes it
        state, motor = start_state(rng), rng.standard_normal((self.steps, ACTIONS))
        mean, std = self.policy.standardization(moments)
        sums = np.zeros((2, OBSERVATIONS))
        f, length = episode(
            theta,
            self.policy.shape,
            ACTIVATIONS[self.policy.activation],
            mean,
            std,
            state,
            motor,
            action_noise_of(seed, action_noise, self.steps, ACTIONS),
            self.walls,
            sums,
            contributes,
            self.work,
        )
        observed = Moments(length, *sums) if contributes else None
        return Episode(f, state[:2], length, observed)

    def close(self) -> None:
        """Nothing to release."""


def native(task: Task, policy: Policy, half_width: float) -> PointPlayer | None:
    """The compiled loop, for an MLP that fits and the behavior that it knows."""
    if not isinstance(policy, MLP) or task.behavior.name != BEHAVIOR:
        return None
    fits = (policy.sizes[0], policy.sizes[-1]) == (OBSERVATIONS, ACTIONS)
    return PointPlayer(task, policy, half_width) if fits else None


PIXELS = 480
VIEW = (-6.0, 30.0)  # both axes; y is centred


def draw(
    walls: NDArray[np.float64], path: list[tuple[float, float]], heading: float
) -> NDArray[np.uint8]:
    """The robot, its path and the walls from above, (480, 480, 3)."""
    scale = PIXELS / (VIEW[1] - VIEW[0])
    px = (np.arange(PIXELS) + 0.5) / scale + VIEW[0]
    py = ((np.arange(PIXELS)[::-1] + 0.5) / scale - (VIEW[1] - VIEW[0]) / 2)[:, None]
    image = np.full((PIXELS, PIXELS, 3), 250, np.uint8)

    def pixels(x: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[Any, Any]:
        column = ((x - VIEW[0]) * scale).astype(int).clip(0, PIXELS - 1)
        row = (((VIEW[1] - VIEW[0]) / 2 - y) * scale).astype(int).clip(0, PIXELS - 1)
        return row, column

    for x0, x1, y0, y1 in walls + (RADIUS - 0.1) * np.array([1, -1, 1, -1]):
        image[(x0 <= px) & (px <= x1) & (y0 <= py) & (py <= y1)] = (70, 70, 80)
    trail = np.array(path)
    image[pixels(trail[:, 0], trail[:, 1])] = (120, 160, 220)
    x, y = path[-1]
    image[(px - x) ** 2 + (py - y) ** 2 <= (1.5 * RADIUS) ** 2] = (200, 60, 40)
    nose = np.linspace(0.0, 4 * RADIUS, 12)
    image[pixels(x + nose * np.cos(heading), y + nose * np.sin(heading))] = (200, 60, 40)
    return image
