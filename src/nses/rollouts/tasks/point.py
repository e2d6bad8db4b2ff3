"""A point robot with inertia: facing the paper's three walls (`point-trap`), or free (`point`)."""

import math
from copy import copy
from itertools import pairwise
from numbers import Real
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from nses.core.moments import Moments, initial
from nses.errors import UsageError
from nses.rollouts.behaviors import PLACE, parse_behavior
from nses.rollouts.episode import Episode, action_noise_of
from nses.rollouts.native.network import ACTIVATIONS
from nses.rollouts.native.point import (
    ACTIONS,
    COS,
    DT,
    HEADING,
    OBSERVATIONS,
    RADIUS,
    SIN,
    X,
    Y,
    advance,
    episode,
    observe,
)
from nses.rollouts.policies import Policy, check_theta
from nses.rollouts.policies.mlp import MLP
from nses.rollouts.tasks.task import Task
from nses.rollouts.tasks.trap import HALF_THICKNESS, Trap

STEPS = 300
HALF_WIDTH = 1.75
PAPER = Trap()
OUTSIDE = PAPER.back + RADIUS  # x beyond which the robot has left the trap
START_NOISE = 0.1
BOUNDS = np.array([100.0, 100.0, 1.0, 1.0, 10.0, 10.0])  # of observations; never approached


def walls_of(half_width: float | None) -> NDArray[np.float64]:
    """Where the robot's centre cannot be: back, left and right wall as x0, x1, y0, y1, (3, 4).

    The walls stand on the centre lines of the paper's boxes, the side walls `half_width` from the
    middle (1.5 in the paper). For None there are no walls, (0, 4).
    """
    if half_width is None:
        return np.empty((0, 4))
    if not (isinstance(half_width, Real) and 2 * RADIUS < half_width < 100):
        raise UsageError(
            f"half_width must lie between {2 * RADIUS} and 100, or be null for no walls, "
            f"got {half_width}."
        )
    front, back = PAPER.back - PAPER.depth, PAPER.back
    lines = np.array(
        [
            [back, back, -half_width, half_width],
            [front, back, half_width, half_width],
            [front, back, -half_width, -half_width],
        ]
    )
    return lines + RADIUS * np.array([-1.0, 1.0, -1.0, 1.0])


def boxes_of(reach: NDArray[np.float64]) -> NDArray[np.float64]:
    """The walls as they are drawn, computed from where the robot's centre cannot be."""
    return reach + (RADIUS - HALF_THICKNESS) * np.array([1.0, -1.0, 1.0, -1.0])


class PointTrapEnv(gym.Env[NDArray[np.float64], NDArray[np.float32]]):
    """A unicycle that starts at the origin and is rewarded for x; the shortest way may be a trap.

    Actions: throttle and turn in [-1, 1], with motor noise. The rewards of an episode sum to its
    final x. `half_width` is half the distance between the side walls (1.5 in the paper); without
    it there are no walls, and no trap.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 30}

    def __init__(self, half_width: float | None = HALF_WIDTH, render_mode: str | None = None):
        self.half_width, self.dt = half_width, DT
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

    def __init__(self, task: Task, policy: MLP, half_width: float | None):
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
        check_theta(theta, self.size)
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

    def warm_up(self) -> None:
        """Plays an episode of no steps."""
        short = copy(self)
        short.steps = 0
        short.play(np.zeros(self.size, np.float32), initial(OBSERVATIONS), seed=0)

    def close(self) -> None:
        """Nothing to release."""


def native(task: Task, policy: Policy, half_width: float | None) -> PointPlayer | None:
    """The compiled loop, if the policy is an MLP that fits and the behavior the one it knows."""
    if type(policy) is not MLP or not task.behavior.same_as(parse_behavior(PLACE)):
        return None
    fits = (policy.sizes[0], policy.sizes[-1]) == (OBSERVATIONS, ACTIONS)
    return PointPlayer(task, policy, half_width) if fits else None


PIXELS = 640
VIEW = (-6.0, 30.0)  # both axes; y is centred
FINER = 2  # drawn this much larger, then reduced, for smooth edges
GROUND, GRID, LABEL, WALL = (250, 250, 250), (234, 235, 239), (150, 152, 160), (70, 70, 80)
OLD, NEW, ROBOT = np.array([200, 214, 236]), np.array([40, 100, 190]), (200, 60, 40)


def draw(
    walls: NDArray[np.float64], path: list[tuple[float, float]], heading: float
) -> NDArray[np.uint8]:
    """The robot, its path (darker is later) and the walls from above, (640, 640, 3)."""
    from PIL import Image, ImageDraw, ImageFont  # which Matplotlib brings

    low, high = VIEW
    scale = FINER * PIXELS / (high - low)
    image = Image.new("RGB", (FINER * PIXELS, FINER * PIXELS), GROUND)
    pen = ImageDraw.Draw(image)

    def place(x: float, y: float) -> tuple[float, float]:
        return (x - low) * scale, ((high - low) / 2 - y) * scale

    font = ImageFont.load_default(13 * FINER)
    for x in range(0, int(high), 5):
        pen.line([place(x, high), place(x, -high)], GRID, FINER)
        pen.text(place(x, low - 10), f"x = {x}" if x == 0 else str(x), LABEL, font, anchor="mb")
    for x0, x1, y0, y1 in boxes_of(walls):
        pen.rectangle([place(x0, y1), place(x1, y0)], WALL)
    width = round(0.16 * scale)
    for i, (start, end) in enumerate(pairwise(path)):
        shade = OLD + (NEW - OLD) * i // len(path)
        pen.line([place(*start), place(*end)], tuple(shade.tolist()), width)
    edge = (high - low) / 2 - 2 * RADIUS  # where a robot that has left the view is shown
    x, y = np.clip(path[-1], (low + 2 * RADIUS, -edge), (high - 2 * RADIUS, edge)).tolist()
    nose = place(x + 3.5 * RADIUS * math.cos(heading), y + 3.5 * RADIUS * math.sin(heading))
    pen.line([place(x, y), nose], ROBOT, width)
    pen.circle(place(x, y), 1.6 * RADIUS * scale, ROBOT)
    return np.asarray(image.reduce(FINER))
