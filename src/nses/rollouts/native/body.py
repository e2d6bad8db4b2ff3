"""A MuJoCo body with its policy: a whole episode in compiled code that calls MuJoCo's C library."""

# MuJoCo's bindings come without types:
# pyright: reportAttributeAccessIssue=false

import ctypes
import math
from pathlib import Path

import llvmlite.binding as llvm
import mujoco
import numpy as np
from numba import types

from nses.core.compiled import compiled
from nses.rollouts.native.network import forward, normalize, take_in

LONGEST_STEP = 10.0  # of the centre of mass, in metres; a body that goes farther has blown up
HIGHEST_CONTACT_COST = 10.0
BAD_POSITION = int(mujoco.mjtWarning.mjWARN_BADQPOS)
BAD_VELOCITY = int(mujoco.mjtWarning.mjWARN_BADQVEL)
BAD_ACCELERATION = int(mujoco.mjtWarning.mjWARN_BADQACC)

GOES_ON, ENDED, BLEW_UP, NOT_FINITE = range(4)  # what became of an episode

# Functions of the addresses of an MjModel and an MjData.
_signature = types.void(types.intp, types.intp)
mj_step = types.ExternalFunction("mj_step", _signature)
mj_contact_forces = types.ExternalFunction("mj_rnePostConstraint", _signature)


def load_simulator() -> None:
    """Makes MuJoCo's functions known to compiled code; OSError or RuntimeError if that fails."""
    version = mujoco.mj_versionString()
    folder = Path(mujoco.__file__).parent
    names = (f"libmujoco.so.{version}", f"libmujoco.{version}.dylib", "mujoco.dll")
    library = next((folder / name for name in names if (folder / name).exists()), None)
    if library is None:
        raise OSError(f"the MuJoCo package has no library of version {version}")
    found = ctypes.CDLL(str(library)).mj_version()
    if found != mujoco.mj_version():
        raise OSError(f"{library.name} has version {found}, the package {mujoco.mj_version()}")
    llvm.load_library_permanently(str(library))


@compiled
def distance(x, y, isotropic):
    """How far away a place is: from the origin, or along x."""
    return math.sqrt(x * x + y * y) if isotropic else x


@compiled
def has_given_up(warnings):
    """Whether MuJoCo met a position, speed or acceleration beyond 1e10, and reset itself."""
    return warnings[BAD_POSITION] + warnings[BAD_VELOCITY] + warnings[BAD_ACCELERATION] > 0


@compiled
def has_blown_up(warnings, x0, y0, x1, y1):
    """Whether MuJoCo gave up or is about to, when a body would be rewarded for kilometres."""
    return has_given_up(warnings) or not distance(x1 - x0, y1 - y0, True) < LONGEST_STEP


@compiled
def reward_terms(ctrl, cfrc_ext, reward, x0, y0, x1, y1):
    """The rewards for progress, control, contact and being alive, from (x0, y0) to (x1, y1)."""
    ahead, control, contact, alive, isotropic = reward
    progress = distance(x1, y1, isotropic) - distance(x0, y0, isotropic)
    effort, force = 0.0, 0.0
    for u in ctrl:
        effort += u * u
    if contact > 0.0:
        for b in range(cfrc_ext.shape[0]):
            for i in range(cfrc_ext.shape[1]):
                force += cfrc_ext[b, i] * cfrc_ext[b, i]
    impact = min(contact * force, HIGHEST_CONTACT_COST)
    return ahead * progress, -control * effort, -impact, alive


@compiled
def look(observed, out):
    """Copies the arrays of the simulator that a body senses to `out`, one after the other."""
    start = 0
    for part in observed:
        for j in range(part.size):
            out[start + j] = part[j]
        start += part.size


@compiled
def episode(
    simulation, views, body, reward, network, noise, sums, contributes, observation, so_far, steps
):
    """Plays on for at most `steps` steps from the simulator's state; returns what became of it.

    simulation: addresses of model and data
    views:      into the data: what is observed (a tuple), qpos from the height on, ctrl, centre,
                cfrc_ext, warnings
    body:       frame skip, whether contact forces are sensed, lowest and highest root, low, high
    network:    theta, sizes, activation, mean, std, work
    noise:      on the actions of these steps, or empty
    so_far:     return, x, y and length, updated
    """
    model, data = simulation
    observed, qpos, ctrl, centre, cfrc_ext, warnings = views
    substeps, forces, lowest, highest, low, high = body
    theta, sizes, activation, mean, std, work = network
    for step in range(steps):
        look(observed, observation)
        if not take_in(observation, sums, contributes):
            so_far[0] = np.nan
            return NOT_FINITE
        normalize(observation, mean, std, work[0])
        y = forward(theta, sizes, activation, work)
        for j in range(ctrl.size):
            u = y[j]
            if len(noise):
                u += noise[step, j]
            u = low[j] if u < low[j] else u  # a NaN stays one, as in NumPy
            ctrl[j] = high[j] if u > high[j] else u
        for _ in range(substeps):
            mj_step(model, data)
        so_far[3] += 1
        x0, y0, x1, y1 = so_far[1], so_far[2], centre[0], centre[1]
        if has_blown_up(warnings, x0, y0, x1, y1):
            return BLEW_UP
        if forces:
            mj_contact_forces(model, data)
        progress, control, contact, alive = reward_terms(ctrl, cfrc_ext, reward, x0, y0, x1, y1)
        so_far[0] += progress + control + contact + alive
        so_far[1], so_far[2] = x1, y1
        if not lowest <= qpos[0] <= highest:
            return ENDED
    return GOES_ON
