"""Other people's MuJoCo environments, made to notice when their simulation blows up."""

# MuJoCo's bindings come without types:
# pyright: reportAttributeAccessIssue=false

import logging
from typing import Any

import gymnasium as gym
import mujoco

from nses.rollouts.native.body import has_given_up
from nses.rollouts.tasks.camera import opengl

log = logging.getLogger("nses")


class Guarded(gym.Wrapper[Any, Any, Any, Any]):
    """Any other MuJoCo environment, made to notice when its simulation blows up.

    MuJoCo then resets itself in mid-step, and the environment would reward the jump. Instead the
    episode ends there, with what was known before the step, as with our own bodies.
    """

    def __init__(self, environment: gym.Env[Any, Any]):
        super().__init__(environment)
        self.warnings = environment.get_wrapper_attr("data").warning.number
        self.last: tuple[Any, dict[str, Any]] = (None, {})
        keep_out_of_the_working_directory()
        has_given_up(self.warnings)  # compiles it, before the first episode

    def reset(self, **arguments: Any) -> tuple[Any, dict[str, Any]]:
        self.last = self.env.reset(**arguments)
        return self.last

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self.env.step(action)
        if has_given_up(self.warnings):
            observation, info = self.last
            return observation, 0.0, True, False, {**info, "blown_up": True}
        self.last = observation, info
        return observation, reward, terminated, truncated, info

    def render(self) -> Any:
        with opengl():
            return self.env.render()


def keep_out_of_the_working_directory() -> None:
    """Sends MuJoCo's warnings to this package's log, unless somebody has redirected them already.

    By default they go to the console and to ./MUJOCO_LOG.TXT, thousands in a bad generation.
    """
    if mujoco.get_mju_user_warning() is None:
        mujoco.set_mju_user_warning(_note)


def _note(text: str) -> None:
    """Logs a warning, but only for debugging if environments report it or nobody can help it."""
    hidden = "simulation is unstable" in text or "is deprecated" in text
    log.log(logging.DEBUG if hidden else logging.WARNING, text)
