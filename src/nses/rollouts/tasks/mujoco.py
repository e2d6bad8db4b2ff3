"""MuJoCo bodies as tasks: a body, a trap and a reward are independent choices."""

# MuJoCo's bindings come without types:
# pyright: reportAttributeAccessIssue=false

import logging
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import astuple
from functools import partial
from typing import Any

import gymnasium as gym
import mujoco
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from nses.core.moments import Moments, initial
from nses.errors import UsageError
from nses.rollouts.episode import FIRST_SLICE, SLICE, ActionNoise, Episode, Interrupted, never
from nses.rollouts.native.body import (
    BLEW_UP,
    GOES_ON,
    episode,
    has_blown_up,
    load_simulator,
    reward_terms,
)
from nses.rollouts.native.network import ACTIVATIONS
from nses.rollouts.numbers import places_of, stretches_of
from nses.rollouts.policies import check_theta
from nses.rollouts.policies.mlp import MLP
from nses.rollouts.tasks.bodies import BODIES, REWARDS, model_of
from nses.rollouts.tasks.camera import Camera
from nses.rollouts.tasks.chance import rng_of
from nses.rollouts.tasks.guarded import keep_out_of_the_working_directory
from nses.rollouts.tasks.task import Task

MOST_PARTS = 16  # arrays from which a compiled loop takes observations
LARGEST = 1e20  # in an observation; MuJoCo gives up at 1e10 in position, speed and acceleration

log = logging.getLogger("nses")


class BodyEnv(gym.Env[NDArray[np.float64], NDArray[np.float32]]):
    """A body that starts at the origin and is rewarded for moving its centre of mass.

    `trap` holds settings of `Trap`, an empty mapping for the paper's; `left_hip` is the limit of
    that joint, in degrees, if it should differ from Gymnasium's humanoid. The options of `Physics`
    are the body's own unless they are given. info has the centre of mass (x, y) and the terms of
    the reward. A simulation that blows up ends its episode: the last step earns nothing,
    observation and place stay as they were, and info says `blown_up`.
    """

    metadata = {"render_modes": ["rgb_array"]}

    def __init__(
        self,
        body: str = "humanoid",
        reward: str = "isotropic",
        trap: Mapping[str, float] | None = None,
        render_mode: str | None = None,
        left_hip: float | None = None,
        integrator: str | None = None,
        solver: str | None = None,
        iterations: int | None = None,
        tolerance: float | None = None,
        substeps: int | None = None,
    ):
        self.body = _choice("body", body, BODIES)
        self.reward = _choice("reward", reward, REWARDS)(self.body)
        options = dict(
            integrator=integrator, solver=solver, iterations=iterations, tolerance=tolerance,
            substeps=substeps,
        )  # fmt: skip
        self.physics = self.body.simulation.revised(options)
        self.substeps = substeps or self.body.frame_skip
        bare = render_mode is None
        self.model = model_of(self.body, trap, left_hip, self.physics, bare)
        self.data = data = mujoco.MjData(self.model)
        keep_out_of_the_working_directory()
        self.dt = self.model.opt.timestep * self.substeps  # seconds per step
        self.metadata = {**BodyEnv.metadata, "render_fps": round(1 / self.dt)}
        self.render_mode = render_mode
        self.camera = Camera(self.model, self.body.distance) if render_mode == "rgb_array" else None

        # Views of the simulator's own arrays.
        arrays = [data.qpos[self.body.unseen :], data.qvel]
        arrays += [getattr(data, name).reshape(-1) for name in self.body.senses]
        self.observed, self.warnings, self.centre = arrays, data.warning.number, data.subtree_com[0]
        self.terms = partial(reward_terms, data.ctrl, data.cfrc_ext, astuple(self.reward))
        self.forces = "cfrc_ext" in self.body.senses or self.reward.contact > 0
        size = sum(array.size for array in arrays)
        self.observation_space = spaces.Box(-LARGEST, LARGEST, (size,), np.float64)
        low, high = self.model.actuator_ctrlrange.T.astype(np.float32)
        self.action_space = spaces.Box(low, high, dtype=np.float32)
        self.low, self.high = low.astype(np.float64), high.astype(np.float64)
        self.last = np.concatenate(arrays)  # observation
        self.place = (0.0, 0.0)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float64], dict[str, Any]]:
        super().reset(seed=seed, options=options)
        self.place = self.begin(self.np_random)
        self.last = np.concatenate(self.observed)
        return self.last, {"x": self.place[0], "y": self.place[1], "blown_up": False}

    def step(
        self, action: NDArray[np.float32]
    ) -> tuple[NDArray[np.float64], float, bool, bool, dict[str, Any]]:
        data, (x0, y0) = self.data, self.place
        np.maximum(action, self.low, out=data.ctrl)
        np.minimum(data.ctrl, self.high, out=data.ctrl)
        mujoco.mj_step(self.model, data, nstep=self.substeps)
        x, y, _ = self.centre.tolist()
        blown_up = has_blown_up(self.warnings, x0, y0, x, y)
        if blown_up:  # MuJoCo has reset itself in mid-step, or the state is nonsense
            self.last = self.last.copy()
            forward, control, contact, alive = 0.0, 0.0, 0.0, 0.0
        else:
            self.place = self._place()
            self.last = np.concatenate(self.observed)
            forward, control, contact, alive = self.terms(x0, y0, x, y)
        info = {
            "x": self.place[0],
            "y": self.place[1],
            "reward_forward": forward,
            "reward_ctrl": control,
            "reward_contact": contact,
            "reward_survive": alive,
            "blown_up": blown_up,
        }
        low, high = self.body.height
        end = blown_up or not low <= data.qpos[self.body.unseen] <= high
        return self.last, forward + control + contact + alive, end, False, info

    def render(self) -> NDArray[np.uint8] | None:  # type: ignore[override]
        return self.camera.picture(self.data) if self.camera else None

    def close(self) -> None:
        if self.camera:
            self.camera.close()

    def begin(self, rng: np.random.Generator) -> tuple[float, float]:
        """Puts the simulator into the first state of an episode; returns where the body is."""
        mujoco.mj_resetData(self.model, self.data)
        scatter(self.data.qpos, self.data.qvel, self.body.reset_noise, rng)
        mujoco.mj_forward(self.model, self.data)
        return self._place()

    def _place(self) -> tuple[float, float]:
        """Where the body is, after adding the contact forces `mj_step` leaves out."""
        if self.forces:
            mujoco.mj_rnePostConstraint(self.model, self.data)
        x, y, _ = self.centre.tolist()
        return x, y


def scatter(
    qpos: NDArray[np.float64], qvel: NDArray[np.float64], noise: float, rng: np.random.Generator
) -> None:
    """Moves a body a little away from its start: adds U(-noise, noise) to each number."""
    drawn = rng.uniform(-noise, noise, qpos.size + qvel.size)
    qpos += drawn[: qpos.size]
    qvel += drawn[qpos.size :]


class BodyPlayer:
    """Whole episodes in compiled code, bit for bit those of the environment.

    `keys` choose the numbers of the observation that the policy sees; none stands for all.
    """

    def __init__(
        self, environment: "BodyEnv", policy: MLP, step_limit: int, keys: tuple[str, ...] = ()
    ):
        load_simulator()  # compiled code that misses a function would end the process
        self.environment, self.policy, self.steps = environment, policy, step_limit
        self.should_stop: Callable[[], bool] = never
        model, data, body = environment.model, environment.data, environment.body
        space = environment.action_space
        self.simulation = (model._address, data._address)
        self.views = (
            tuple(parts_of(environment.observed, keys)),
            data.qpos[body.unseen :],
            data.ctrl,
            environment.centre,
            data.cfrc_ext,
            environment.warnings,
        )
        self.body = (environment.substeps, environment.forces, *body.height, space.low, space.high)
        self.reward = astuple(environment.reward)
        self.work, self.observation = policy.buffers(), np.empty(policy.observation_size)

    def play(
        self,
        theta: NDArray[np.float32],
        moments: Moments,
        seed: int,
        *,
        action_noise: float = 0.0,
        contributes: bool = False,
    ) -> Episode:
        check_theta(theta, self.policy.size)
        x, y = self.environment.begin(rng_of(seed))
        activation = ACTIVATIONS[self.policy.activation]
        moments_used = self.policy.standardization(moments)
        network = (theta, self.policy.shape, activation, *moments_used, self.work)
        noise = ActionNoise(seed, action_noise, self.policy.sizes[-1])
        sums = np.zeros((2, self.policy.observation_size))
        so_far = np.array([0.0, x, y, 0.0])  # return, x, y, length
        fate, left, steps = GOES_ON, self.steps, FIRST_SLICE
        while fate == GOES_ON and left:
            if left < self.steps and self.should_stop():
                raise Interrupted
            steps = min(left, steps)
            fate = episode(
                self.simulation,
                self.views,
                self.body,
                self.reward,
                network,
                noise.draw(steps),
                sums,
                contributes,
                self.observation,
                so_far,
                steps,
            )
            left, steps = left - steps, min(2 * steps, SLICE)
        length = int(so_far[3])
        b = so_far[1:3] if length else np.full(2, np.nan)
        observed = Moments(length, *sums) if contributes else None
        return Episode(float(so_far[0]), b, length, observed, fate == BLEW_UP)

    def warm_up(self) -> None:
        """Plays one step; the next episode starts afresh."""
        short = copy(self)
        short.steps = 1
        short.play(np.zeros(self.policy.size, np.float32), initial(self.observation.size), seed=0)

    def close(self) -> None:
        self.environment.close()


def parts_of(arrays: list[NDArray[np.float64]], keys: tuple[str, ...]) -> list[NDArray[np.float64]]:
    """Views of the chosen numbers of arrays that are observed one after the other."""
    chosen = places_of(keys or (":",), sum(array.size for array in arrays))
    parts, start = [], 0
    for array in arrays:
        inside = chosen[(chosen >= start) & (chosen < start + array.size)] - start
        parts += [array[stretch] for stretch in stretches_of(inside)]
        start += array.size
    return parts


def native(
    task: Task, policy: MLP, arguments: Mapping[str, Any], keys: tuple[str, ...] = ()
) -> BodyPlayer | None:
    """The compiled loop, if the network fits and MuJoCo's library can be loaded.

    Each stretch of neighbours among the chosen numbers makes the loop another one to compile, so
    there must not be many.
    """
    environment = BodyEnv(**arguments)
    parts = parts_of(environment.observed, keys)
    inputs = sum(part.size for part in parts)
    if (inputs, environment.model.nu) != (policy.sizes[0], policy.sizes[-1]):
        return None
    if len(parts) > MOST_PARTS:
        return None
    try:
        return BodyPlayer(environment, policy, task.step_limit, keys)
    except (OSError, RuntimeError) as error:
        log.warning(
            "compiled episodes need MuJoCo's own library, which cannot be loaded: %s. "
            "Playing through Gymnasium: the same results, more slowly.",
            error,
        )
        return None


def _choice(what: str, name: str, table: dict[str, Any]) -> Any:
    if name not in table:
        raise UsageError(f"{what} must be one of {', '.join(table)}, got {name!r}.")
    return table[name]
