"""MuJoCo environments of others: a simulation that blows up is noticed."""

import gymnasium as gym
import numpy as np
import pytest

from nses.rollouts.tasks.catalog import make_task
from nses.rollouts.tasks.guarded import Guarded


@pytest.mark.parametrize("identifier", ["Ant-v5", "HalfCheetah-v5"])
def test_e4_a_blow_up_ends_an_episode_of_any_mujoco_environment(
    identifier, tmp_path, monkeypatch, capfd
):
    monkeypatch.chdir(tmp_path)
    environment = make_task(identifier, "final:x_position").make()
    environment.reset(seed=0)
    still = np.zeros(environment.action_space.shape, np.float32)
    observation, _, _, _, good = environment.step(still)
    assert "blown_up" not in good
    environment.unwrapped.data.qvel[0] = 1e30
    last, reward, terminated, truncated, info = environment.step(still)
    assert (reward, terminated, truncated) == (0.0, True, False)
    assert info == {**good, "blown_up": True}
    np.testing.assert_array_equal(last, observation)
    environment.reset(seed=1)
    assert not environment.step(still)[2]
    assert list(tmp_path.iterdir()) == []
    assert capfd.readouterr() == ("", "")


def test_environments_without_mujoco_are_left_as_they_are():
    assert not isinstance(make_task("CartPole-v1").make(), Guarded)
    assert not isinstance(make_task("humanoid").make(), Guarded)
    own = make_task(f"{__name__}:own_environment", "final-observation:0", max_steps=9)
    assert isinstance(own.make(), Guarded)


def own_environment():
    return gym.make("Swimmer-v5").unwrapped
