"""MuJoCo bodies: simulated and sensing as in the paper."""

import numpy as np
import pytest

from nses.rollouts.tasks.mujoco import BodyEnv

STILL = np.zeros(17, np.float32)


def test_the_humanoid_is_simulated_as_in_the_paper():
    environment = BodyEnv()
    model, space = environment.model, environment.action_space
    assert (model.opt.timestep, environment.body.frame_skip) == (0.003, 5)
    assert (space.low == -np.float32(0.4)).all()
    assert (space.high == np.float32(0.4)).all()
    environment.reset(seed=0)
    environment.step(STILL)
    assert environment.data.time == pytest.approx(0.015)


def test_the_humanoid_senses_itself_in_the_order_of_the_paper():
    environment = BodyEnv()
    observation, _ = environment.reset(seed=0)
    for _ in range(12):
        observation, *_ = environment.step(environment.action_space.high)
    data = environment.data
    sizes = [22, 23, 140, 84, 23, 84]
    qpos, qvel, cinert, cvel, actuator, cfrc = np.split(observation, np.cumsum(sizes)[:-1])
    np.testing.assert_array_equal(qpos, data.qpos[2:])
    np.testing.assert_array_equal(qvel, data.qvel)
    np.testing.assert_array_equal(cinert, data.cinert.ravel())
    np.testing.assert_array_equal(cvel, data.cvel.ravel())
    np.testing.assert_array_equal(actuator, data.qfrc_actuator)
    np.testing.assert_array_equal(cfrc, data.cfrc_ext.ravel())
    assert all(part.any() for part in (qpos, qvel, cinert, cvel, actuator, cfrc))
