"""MuJoCo bodies of the Gymnasium package: a body, a trap and a reward are independent choices."""

# MuJoCo's bindings come without types:
# pyright: reportAttributeAccessIssue=false

import ctypes.util
import logging
import math
import os
import sys
import warnings
from collections.abc import Callable, Mapping
from dataclasses import astuple, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium as gym
import mujoco
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from nses.core.compiled import compiled
from nses.rollouts.tasks.trap import trap_of, with_trap

ASSETS = Path(gym.__file__).parent / "envs" / "mujoco" / "assets"
LARGEST = 1e20  # in an observation; MuJoCo gives up at 1e10 in position, speed and acceleration
LONGEST_STEP = 10.0  # of the centre of mass, in metres; whoever goes farther has blown up already
HIGHEST_CONTACT_COST = 10.0
BADQPOS = int(mujoco.mjtWarning.mjWARN_BADQPOS)
BADQVEL = int(mujoco.mjtWarning.mjWARN_BADQVEL)
BADQACC = int(mujoco.mjtWarning.mjWARN_BADQACC)

log = logging.getLogger("nses")


@dataclass(frozen=True)
class Reward:
    """forward · progress - control · Σ ctrl² - min(contact · Σ cfrc_ext², 10) + alive, per step.

    Progress of the centre of mass is along x or, isotropic, away from the origin.
    """

    forward: float = 1.0
    control: float = 0.0
    contact: float = 0.0
    alive: float = 0.0
    isotropic: bool = False


@dataclass(frozen=True)
class Body:
    """A model, how it is simulated, what it senses of itself, and when it counts as fallen."""

    model: str
    frame_skip: int
    reset_noise: float  # uniform, on all positions and velocities
    reward: Reward  # directional, as in Gymnasium (but for the contact cost of its ant)
    unseen: int = 2  # positions that are not observed: x and y
    senses: tuple[str, ...] = ()  # arrays of MjData that are, besides qpos and qvel
    height: tuple[float, float] = (-math.inf, math.inf)  # of the root; outside, the episode ends
    options: tuple[tuple[str, Any], ...] = ()  # of the simulation, where they differ from the model
    distance: float = 5.0  # of the camera


# One evaluation per step of the simulation where the models' Runge-Kutta method needs four.
IMPLICIT = (("integrator", mujoco.mjtIntegrator.mjINT_IMPLICITFAST),)

BODIES = {
    "humanoid": Body(
        model="humanoid.xml",
        frame_skip=5,
        reset_noise=0.01,
        reward=Reward(forward=0.25 / 0.003, control=0.1, contact=0.5e-6, alive=5.0),
        senses=("cinert", "cvel", "qfrc_actuator", "cfrc_ext"),
        height=(1.0, 2.0),
    ),
    "ant": Body(
        model="ant.xml",
        frame_skip=5,
        reset_noise=0.1,
        reward=Reward(forward=1 / 0.05, control=0.5, alive=1.0),
        height=(0.2, 1.0),
        options=IMPLICIT,
    ),
    "halfcheetah": Body(
        model="half_cheetah.xml",
        frame_skip=5,
        reset_noise=0.1,
        reward=Reward(forward=1 / 0.05, control=0.1),
        unseen=1,
        distance=4.0,
    ),
    "swimmer": Body(
        model="swimmer.xml",
        frame_skip=4,
        reset_noise=0.1,
        reward=Reward(forward=1 / 0.12, control=1e-4),
        options=(*IMPLICIT, ("timestep", 0.03)),
        distance=9.0,
    ),
}

REWARDS: dict[str, Callable[[Body], Reward]] = {
    "forward": lambda body: Reward(),  # x and nothing else: deceptive where there is a trap
    "directional": lambda body: body.reward,
    "isotropic": lambda body: replace(body.reward, isotropic=True),
}


class BodyEnv(gym.Env[NDArray[np.float64], NDArray[np.float32]]):
    """A body that starts at the origin and is paid for the way of its centre of mass.

    `trap` holds settings of `Trap`, an empty mapping for the paper's. info has the centre of mass
    (x, y) and the terms of the reward. A simulation that blows up ends its episode: the last step
    is worth nothing, observation and place stay those before it, and info says `blown_up`.
    """

    metadata = {"render_modes": ["rgb_array"]}

    def __init__(
        self,
        body: str = "humanoid",
        reward: str = "isotropic",
        trap: Mapping[str, float] | None = None,
        render_mode: str | None = None,
    ):
        self.body = _choice("body", body, BODIES)
        self.reward = _choice("reward", reward, REWARDS)(self.body)
        self.model = model_of(self.body, trap)
        self.data = data = mujoco.MjData(self.model)
        _keep_out_of_the_working_directory()
        frame = self.model.opt.timestep * self.body.frame_skip
        self.metadata = {**BodyEnv.metadata, "render_fps": round(1 / frame)}
        self.render_mode = render_mode
        self.camera = Camera(self.model, self.body) if render_mode == "rgb_array" else None

        # Views of what the simulator writes.
        arrays = [data.qpos[self.body.unseen :], data.qvel]
        arrays += [getattr(data, name).reshape(-1) for name in self.body.senses]
        self.observed, self.warnings, self.centre = arrays, data.warning.number, data.subtree_com[0]
        self.terms = partial(reward_terms, data.ctrl, data.cfrc_ext, *astuple(self.reward))
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
        mujoco.mj_resetData(self.model, self.data)
        scatter(self.data.qpos, self.data.qvel, self.body.reset_noise, self.np_random)
        mujoco.mj_forward(self.model, self.data)
        self._look()
        return self.last, {"x": self.place[0], "y": self.place[1], "blown_up": False}

    def step(
        self, action: NDArray[np.float32]
    ) -> tuple[NDArray[np.float64], float, bool, bool, dict[str, Any]]:
        data, (x0, y0) = self.data, self.place
        np.maximum(action, self.low, out=data.ctrl)
        np.minimum(data.ctrl, self.high, out=data.ctrl)
        mujoco.mj_step(self.model, data, nstep=self.body.frame_skip)
        x, y, _ = self.centre.tolist()
        blown_up = has_blown_up(self.warnings, x0, y0, x, y)
        if blown_up:  # the state is that of a reset in mid-step, or nonsense
            self.last = self.last.copy()
            forward, control, contact, alive = 0.0, 0.0, 0.0, 0.0
        else:
            self._look()
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
        end = blown_up or not low <= data.qpos[2] <= high
        return self.last, forward + control + contact + alive, end, False, info

    def render(self) -> NDArray[np.uint8] | None:  # type: ignore[override]
        return self.camera.picture(self.data) if self.camera else None

    def close(self) -> None:
        if self.camera:
            self.camera.close()

    def _look(self) -> None:
        """Takes in the state of the simulator, which `mj_step` leaves without contact forces."""
        if self.forces:
            mujoco.mj_rnePostConstraint(self.model, self.data)
        self.last = np.concatenate(self.observed)
        x, y, _ = self.centre.tolist()
        self.place = (x, y)


def model_of(body: Body, trap: Mapping[str, float] | None) -> mujoco.MjModel:
    """The compiled model of a body, with the walls of a trap around its way."""
    spec = mujoco.MjSpec.from_file(str(ASSETS / body.model))
    for name, value in body.options:
        setattr(spec.option, name, value)
    walls = trap_of(trap)
    with warnings.catch_warnings():  # the half-cheetah's model has an attribute that is to go
        warnings.filterwarnings("ignore", "compiler attribute 'settotalmass' is deprecated")
        return (with_trap(spec, walls) if walls else spec).compile()


def scatter(
    qpos: NDArray[np.float64], qvel: NDArray[np.float64], noise: float, rng: np.random.Generator
) -> None:
    """Moves a body a little from where it starts, U(-noise, noise) in each number."""
    qpos += rng.uniform(-noise, noise, qpos.size)
    qvel += rng.uniform(-noise, noise, qvel.size)


@compiled
def distance(x, y, isotropic):
    """How far a place is: from the origin, or along x."""
    return math.sqrt(x * x + y * y) if isotropic else x


@compiled
def has_blown_up(warnings, x0, y0, x1, y1):
    """Whether MuJoCo met a position, speed or acceleration beyond 1e10, or the body is far away.

    On its way to 1e10 a body would be paid for kilometres.
    """
    if warnings[BADQPOS] + warnings[BADQVEL] + warnings[BADQACC] > 0:
        return True
    return not distance(x1 - x0, y1 - y0, True) < LONGEST_STEP


@compiled
def reward_terms(ctrl, cfrc_ext, forward, control, contact, alive, isotropic, x0, y0, x1, y1):
    """For progress, control, contact and being alive, on the way from (x0, y0) to (x1, y1)."""
    progress = distance(x1, y1, isotropic) - distance(x0, y0, isotropic)
    effort, force = 0.0, 0.0
    for u in ctrl:
        effort += u * u
    if contact > 0.0:
        for b in range(cfrc_ext.shape[0]):
            for i in range(cfrc_ext.shape[1]):
                force += cfrc_ext[b, i] * cfrc_ext[b, i]
    impact = min(contact * force, HIGHEST_CONTACT_COST)
    return forward * progress, -control * effort, -impact, alive


def _keep_out_of_the_working_directory() -> None:
    """Sends MuJoCo's warnings to the log of this package, unless they go somewhere already.

    They would go to the console and to ./MUJOCO_LOG.TXT, thousands of them in a bad generation.
    """
    if mujoco.get_mju_user_warning() is None:
        mujoco.set_mju_user_warning(_note)


def _note(text: str) -> None:
    """Blow-ups are for the curious only: the environments report them."""
    log.log(logging.DEBUG if "simulation is unstable" in text else logging.WARNING, text)


def _choice(what: str, name: str, table: dict[str, Any]) -> Any:
    if name not in table:
        raise ValueError(f"{what} must be one of {', '.join(table)}, got {name!r}.")
    return table[name]


PIXELS = 480


class Camera:
    """Takes pictures that follow a body, on a machine without a screen as well."""

    def __init__(self, model: mujoco.MjModel, body: Body):
        self.model = model
        self.view = mujoco.MjvCamera()
        self.view.type = mujoco.mjtCamera.mjCAMERA_TRACKING
        self.view.trackbodyid = 1
        self.view.distance, self.view.azimuth, self.view.elevation = body.distance, 50.0, -30.0
        self.scene, self.options = mujoco.MjvScene(model, 1000), mujoco.MjvOption()
        try:
            self.gl = _gl_context()
            self.gl.make_current()
            self.context = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_100)
        except Exception as error:  # from any of several libraries
            raise ValueError(
                f"pictures need OpenGL, which does not work here: {error}. Without a screen, "
                "install OSMesa (Debian and Ubuntu: apt-get install libosmesa6) and set "
                "MUJOCO_GL=osmesa, or with a GPU set MUJOCO_GL=egl."
            ) from error
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, self.context)

    def picture(self, data: mujoco.MjData) -> NDArray[np.uint8]:
        """(480, 480, 3)"""
        self.gl.make_current()
        everything = mujoco.mjtCatBit.mjCAT_ALL
        mujoco.mjv_updateScene(
            self.model, data, self.options, None, self.view, everything, self.scene
        )
        frame = mujoco.MjrRect(0, 0, PIXELS, PIXELS)
        pixels = np.empty((PIXELS, PIXELS, 3), np.uint8)
        mujoco.mjr_render(frame, self.scene, self.context)
        mujoco.mjr_readPixels(pixels, None, frame, self.context)
        return pixels[::-1].copy()

    def close(self) -> None:
        self.gl.make_current()
        self.context.free()
        self.gl.free()


def _gl_context() -> Any:
    """OpenGL as MUJOCO_GL says; where it says nothing and there is no screen, in memory."""
    screen = sys.platform != "linux" or "DISPLAY" in os.environ or "WAYLAND_DISPLAY" in os.environ
    if os.environ.get("MUJOCO_GL") or screen:
        from mujoco import GLContext
    elif ctypes.util.find_library("OSMesa"):
        from mujoco.osmesa import GLContext
    else:
        from mujoco.egl import GLContext
    return GLContext(PIXELS, PIXELS)
