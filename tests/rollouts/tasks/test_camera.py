"""Pictures of bodies, without a screen."""

import gymnasium as gym
import mujoco
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from nses.rollouts.tasks import mujoco as module


@pytest.fixture
def pictured():
    """Makes environments that render, or skips where no OpenGL works."""

    def make(identifier):
        try:
            return gym.make(identifier, render_mode="rgb_array").unwrapped
        except ValueError as error:
            pytest.skip(str(error))

    return make


@pytest.mark.parametrize("identifier", ["NSES/SwimmerTrap-v0", "NSES/HalfCheetah-v0"])
def test_pictures_show_the_body_as_it_moves(identifier, pictured):
    environment = pictured(identifier)
    environment.reset(seed=0)
    first = environment.render()
    environment.action_space.seed(0)
    for _ in range(20):
        environment.step(environment.action_space.sample())
    second = environment.render()
    for picture in (first, second):
        assert (picture.shape, picture.dtype) == ((480, 480, 3), np.uint8)
        assert picture.std() > 10
    assert (first != second).any(axis=2).mean() > 0.01
    environment.close()
    assert gym.make(identifier).unwrapped.render() is None


def test_pictures_show_the_walls(pictured):
    pictures = []
    for identifier in ("NSES/Humanoid-v0", "NSES/HumanoidTrap-v0"):
        environment = pictured(identifier)
        environment.reset(seed=0)
        pictures.append(environment.render())
        environment.close()
    assert (pictures[0] != pictures[1]).any(axis=2).mean() > 0.05


def test_rendering_passes_the_check_of_gymnasium(pictured):
    check_env(pictured("NSES/AntTrap-v0"))


def test_where_opengl_does_not_work_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setenv("MUJOCO_GL", "disabled")
    monkeypatch.delattr(mujoco, "GLContext", raising=False)
    with pytest.raises(ValueError, match=r"pictures need OpenGL.*libosmesa6.*MUJOCO_GL"):
        module.BodyEnv(render_mode="rgb_array")
