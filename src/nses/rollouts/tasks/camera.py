"""Pictures of a MuJoCo simulation, with or without a screen."""

# MuJoCo's bindings come without types:
# pyright: reportAttributeAccessIssue=false

import ctypes.util
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from nses.errors import UsageError

PIXELS = 480
SHADOWS = 2048  # pixels, half of MuJoCo's default: a quarter less time without a GPU, same look


class Camera:
    """Takes pictures that follow the first body of a model."""

    def __init__(self, model: mujoco.MjModel, distance: float):
        self.model = model
        model.vis.quality.shadowsize = SHADOWS
        self.view = mujoco.MjvCamera()
        self.view.type = mujoco.mjtCamera.mjCAMERA_TRACKING
        self.view.trackbodyid = 1
        self.view.distance, self.view.azimuth, self.view.elevation = distance, 50.0, -30.0
        self.scene, self.options = mujoco.MjvScene(model, 1000), mujoco.MjvOption()
        with opengl():
            self.gl = _gl_context()
            self.gl.make_current()
            self.context = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_100)
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


@contextmanager
def opengl() -> Iterator[None]:
    """Sets MUJOCO_GL to what works on this machine, for as long as it is needed.

    An error meanwhile becomes a UsageError.
    """
    said = os.environ.get("MUJOCO_GL")
    try:
        if backend := said or _in_memory():
            os.environ["MUJOCO_GL"] = backend
        yield
    except Exception as error:  # from any of several libraries
        raise UsageError(
            "pictures need OpenGL, which does not work here: "
            f"{str(error).rstrip('.')}. Without a screen, install OSMesa (Debian and Ubuntu: "
            "apt-get install libosmesa6) and set MUJOCO_GL=osmesa, or with a GPU set "
            "MUJOCO_GL=egl."
        ) from error
    finally:
        if not said:
            os.environ.pop("MUJOCO_GL", None)


def _in_memory() -> str | None:
    """An OpenGL that needs no screen, if there is none."""
    if sys.platform != "linux" or "DISPLAY" in os.environ or "WAYLAND_DISPLAY" in os.environ:
        return None
    return "osmesa" if ctypes.util.find_library("OSMesa") else "egl"


def _gl_context() -> Any:
    """What MUJOCO_GL asks for now, not when MuJoCo was imported."""
    match os.environ.get("MUJOCO_GL"):
        case "osmesa":
            from mujoco.osmesa import GLContext
        case "egl":
            from mujoco.egl import GLContext
        case _:
            from mujoco import GLContext
    return GLContext(PIXELS, PIXELS)
