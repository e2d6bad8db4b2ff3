"""The MuJoCo bodies of the Gymnasium package, their tasks and their models.

MuJoCo itself is imported only when a model is made.
"""

# MuJoCo's bindings come without types:
# pyright: reportAttributeAccessIssue=false

import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np

from nses.errors import UsageError
from nses.rollouts.tasks.physics import MODELS_OWN, USUAL, Physics
from nses.rollouts.tasks.trap import trap_of, with_trap

if TYPE_CHECKING:
    from mujoco import MjModel, MjSpec

ASSETS = Path(gym.__file__).parent / "envs" / "mujoco" / "assets"


@dataclass(frozen=True)
class Reward:
    """forward · progress - control · Σ ctrl² - min(contact · Σ cfrc_ext², 10) + alive, per step.

    Progress is that of the centre of mass, along x or, if isotropic, away from the origin.
    """

    forward: float = 1.0
    control: float = 0.0
    contact: float = 0.0
    alive: float = 0.0
    isotropic: bool = False


@dataclass(frozen=True)
class Body:
    """A model, how it is simulated, what it senses, and when it counts as fallen."""

    model: str
    frame_skip: int  # steps of the model in one of the environment
    reset_noise: float  # uniform, on all positions and velocities
    reward: Reward  # directional, as in Gymnasium (except for the contact cost of its ant)
    unseen: int = 2  # leading positions not observed: x and y; the next one is the height
    senses: tuple[str, ...] = ()  # arrays of MjData that are observed besides qpos and qvel
    height: tuple[float, float] = (-math.inf, math.inf)  # of the root: the episode ends outside it
    physics: Physics = MODELS_OWN  # known for those below, so that others can be told from it
    timestep: float | None = None  # in seconds, where it is not the model's
    distance: float = 5.0  # of the camera

    @property
    def simulation(self) -> Physics:
        """How it is simulated where nobody asks for anything else."""
        return replace(self.physics, substeps=self.frame_skip)


@dataclass(frozen=True)
class BodyTask:
    """A body, its reward and the walls around it: both a task and a Gymnasium environment."""

    identifier: str  # of the environment
    body: str  # a row of BODIES
    reward: str  # a row of REWARDS
    trap: Mapping[str, float] | None = None  # settings of a Trap
    steps: int = 1000  # at most, in an episode

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of the environment."""
        walls = {} if self.trap is None else {"trap": self.trap}
        return {"body": self.body, "reward": self.reward, **walls}


# Needs one evaluation per simulation step, where the models' Runge-Kutta method needs four.
IMPLICIT = replace(USUAL, integrator="implicitfast")

BODIES = {
    "humanoid": Body(
        model="humanoid.xml",
        frame_skip=5,
        reset_noise=0.01,
        reward=Reward(forward=0.25 / 0.003, control=0.1, contact=0.5e-6, alive=5.0),
        senses=("cinert", "cvel", "qfrc_actuator", "cfrc_ext"),
        height=(1.0, 2.0),
        physics=replace(USUAL, integrator="RK4", solver="PGS", iterations=50),
    ),
    "ant": Body(
        model="ant.xml",
        frame_skip=5,
        reset_noise=0.1,
        reward=Reward(forward=1 / 0.05, control=0.5, alive=1.0),
        height=(0.2, 1.0),
        physics=IMPLICIT,
    ),
    "halfcheetah": Body(
        model="half_cheetah.xml",
        frame_skip=5,
        reset_noise=0.1,
        reward=Reward(forward=1 / 0.05, control=0.1),
        unseen=1,
        physics=USUAL,
        distance=4.0,
    ),
    "swimmer": Body(
        model="swimmer.xml",
        frame_skip=4,
        reset_noise=0.1,
        reward=Reward(forward=1 / 0.12, control=1e-4),
        physics=IMPLICIT,
        timestep=0.03,
        distance=9.0,
    ),
}

PAPER_TRAP: dict[str, float] = {}  # the defaults are the paper's walls
SWIMMER_TRAP = {"back": 4.5, "half_width": 3.5, "depth": 2.0}  # wide: a swimmer is 3 m long

BODY_TASKS = {
    "humanoid": BodyTask("NSES/Humanoid-v0", "humanoid", "isotropic"),
    "humanoid-trap": BodyTask("NSES/HumanoidTrap-v0", "humanoid", "forward", PAPER_TRAP),
    "swimmer": BodyTask("NSES/Swimmer-v0", "swimmer", "forward", steps=400),
    "swimmer-trap": BodyTask("NSES/SwimmerTrap-v0", "swimmer", "forward", SWIMMER_TRAP, steps=400),
    "ant-trap": BodyTask("NSES/AntTrap-v0", "ant", "forward", PAPER_TRAP),
    "halfcheetah": BodyTask("NSES/HalfCheetah-v0", "halfcheetah", "directional"),
}

REWARDS: dict[str, Callable[[Body], Reward]] = {
    "forward": lambda body: Reward(),  # x and nothing else: deceptive in front of a trap
    "directional": lambda body: body.reward,
    "isotropic": lambda body: replace(body.reward, isotropic=True),
}


def unlike_its_task(name: str, arguments: Mapping[str, Any]) -> str:
    """How the simulation differs from that of a built-in task, in words; empty if it does not."""
    if name not in BODY_TASKS:
        return ""
    own = BODIES[BODY_TASKS[name].body].simulation.other_than(arguments)
    return ", ".join(f"{option} {arguments[option]} instead of {x}" for option, x in own.items())


def model_of(
    body: Body,
    trap: Mapping[str, float] | None,
    left_hip: float | None = None,
    physics: Physics | None = None,
    bare: bool = False,
) -> "MjModel":
    """The compiled model of a body, with the walls of a trap in its way.

    `left_hip` is how far the humanoid's left hip bends forward, in degrees: -110 in Gymnasium's
    model, like the right one, and -120 in the authors'. `physics` replaces the body's own.
    A `bare` model moves to the bit as the whole one does, and sooner, but cannot be filmed.
    """
    from mujoco import MjSpec

    spec = MjSpec.from_file(str(ASSETS / body.model))
    if body.timestep is not None:
        spec.option.timestep = body.timestep
    (physics or body.simulation).apply(spec, body.frame_skip)
    if left_hip is not None:
        _bend_left_hip(spec, left_hip)
    if bare:
        _strip(spec)
    else:
        _extend_floor(spec)
    walls = trap_of(trap)
    with warnings.catch_warnings():  # the half-cheetah's model has a deprecated attribute
        warnings.filterwarnings("ignore", "compiler attribute 'settotalmass' is deprecated")
        return (with_trap(spec, walls) if walls else spec).compile()


def _strip(spec: "MjSpec") -> None:
    """Leave out what is computed in every step and moves nothing.

    Islands are groups of bodies that touch, which can be solved apart: one body is one of them.
    """
    from mujoco import mjtDisableBit, mjtTrn

    spec.option.disableflags |= mjtDisableBit.mjDSBL_ISLAND
    pulled = any(actuator.trntype == mjtTrn.mjTRN_TENDON for actuator in spec.actuators)
    named = pulled or len(spec.equalities) or len(spec.sensors)
    tendons = [] if named else [tendon for tendon in spec.tendons if _is_slack(tendon)]
    for part in (*spec.cameras, *spec.lights, *tendons):
        spec.delete(part)


def _extend_floor(spec: "MjSpec") -> None:
    """Draw the floor as far as the eye can see; it has no end for those who walk on it anyway."""
    from mujoco import mjtGeom

    for geom in spec.geoms:
        if geom.type == mjtGeom.mjGEOM_PLANE:
            squares = spec.material(geom.material)
            squares.texrepeat = squares.texrepeat / (2 * geom.size[:2])  # in a metre, not in all
            geom.size = [0.0, 0.0, geom.size[2]]


def _is_slack(tendon: Any) -> bool:
    """Whether a tendon exerts no force."""
    forces = (tendon.stiffness, tendon.damping, tendon.range, tendon.frictionloss, tendon.armature)
    return not any(np.any(force) for force in forces)


def _bend_left_hip(spec: "MjSpec", degrees: float) -> None:
    hip = spec.joint("left_hip_y")
    if hip is None:
        raise UsageError("left_hip is a joint of the humanoid; this body does not have it.")
    upper = float(hip.range[1])
    if not (isinstance(degrees, int | float) and -180 <= degrees < upper):
        raise UsageError(f"left_hip must be from -180 to {upper:g} degrees, got {degrees!r}.")
    hip.range = (degrees, upper)
