"""MuJoCo bodies: simulated and sensing as in the paper."""

from dataclasses import replace

import mujoco
import numpy as np
import pytest

from nses.core.moments import initial
from nses.rollouts.episode import player
from nses.rollouts.policies.mlp import MLP
from nses.rollouts.tasks.bodies import ASSETS, BODIES, BODY_TASKS, _strip, model_of
from nses.rollouts.tasks.catalog import make_task
from nses.rollouts.tasks.mujoco import BodyEnv

STILL = np.zeros(17, np.float32)


def test_tasks_have_their_names_and_those_of_their_environments():
    assert {name: task.identifier for name, task in BODY_TASKS.items()}.items() >= {
        "humanoid": "NSES/Humanoid-v0",
        "humanoid-trap": "NSES/HumanoidTrap-v0",
        "swimmer": "NSES/Swimmer-v0",
        "swimmer-trap": "NSES/SwimmerTrap-v0",
        "ant-trap": "NSES/AntTrap-v0",
        "halfcheetah": "NSES/HalfCheetah-v0",
    }.items()


def test_a_body_ends_its_episode_by_the_height_of_its_root_in_a_plane_too(monkeypatch):
    low = replace(BODIES["halfcheetah"], height=(-0.05, 9.0))  # its root starts at 0 and sinks
    monkeypatch.setitem(BODIES, "low", low)
    task = make_task("halfcheetah", body="low", max_steps=50)
    policy = MLP((17, 6))
    theta, moments = np.zeros(policy.size, np.float32), initial(17)
    compiled, stepped = (player(task, policy, native=n).play(theta, moments, 0) for n in (1, 0))
    assert 0 < compiled.length == stepped.length < 50


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


@pytest.mark.parametrize("trap", [None, {}])
@pytest.mark.parametrize("name", BODIES)
def test_a_bare_model_moves_as_the_whole_one_to_the_bit(name, trap):
    body = BODIES[name]
    rng = np.random.default_rng(3)
    whole, bare = (model_of(body, trap, bare=bare) for bare in (False, True))
    assert (bare.ncam, bare.nlight, bare.ntendon) == (0, 0, 0) < (whole.ncam, whole.nlight, 1)
    a, b = mujoco.MjData(whole), mujoco.MjData(bare)
    a.qvel[:] = b.qvel[:] = rng.uniform(-2, 2, whole.nv)
    a.qvel[0] = b.qvel[0] = 9.0  # towards the wall
    touched = 0
    for _ in range(60):
        a.ctrl[:] = b.ctrl[:] = rng.uniform(*whole.actuator_ctrlrange.T)
        for model, data in ((whole, a), (bare, b)):
            mujoco.mj_step(model, data, nstep=body.frame_skip)
            mujoco.mj_rnePostConstraint(model, data)
        touched += a.ncon
        for part in ("qpos", "qvel", "subtree_com", "cfrc_ext", *body.senses):
            assert getattr(a, part).tobytes() == getattr(b, part).tobytes()
    assert touched or name == "swimmer"


@pytest.mark.parametrize("name", BODIES)
def test_the_floor_of_a_film_has_no_end_and_squares_of_the_same_size(name):
    filmed, own = (model_of(BODIES[name], None, bare=bare) for bare in (False, True))
    (floor,) = np.flatnonzero(own.geom_type == mujoco.mjtGeom.mjGEOM_PLANE)
    squares = own.geom_matid[floor]
    assert filmed.geom_size[floor, :2].tolist() == [0.0, 0.0]
    across = 2 * own.geom_size[floor, :2]
    np.testing.assert_allclose(filmed.mat_texrepeat[squares], own.mat_texrepeat[squares] / across)


def test_only_tendons_that_do_nothing_are_left_out():
    spec = mujoco.MjSpec.from_file(str(ASSETS / "humanoid.xml"))
    spec.tendons[0].stiffness = (3.0, 0.0, 0.0)
    _strip(spec)
    assert len(spec.tendons) == 1
    spec = mujoco.MjSpec.from_file(str(ASSETS / "humanoid.xml"))
    spec.actuators[0].trntype = mujoco.mjtTrn.mjTRN_TENDON
    _strip(spec)
    assert len(spec.tendons) == 2


def test_a_body_that_is_filmed_keeps_its_lights():
    assert BodyEnv("halfcheetah").model.nlight == 0
    environment = BodyEnv("halfcheetah", render_mode="rgb_array")
    assert environment.model.nlight == 1
    environment.close()


def test_the_left_hip_may_bend_as_in_the_authors_model():
    models = [model_of(BODIES["humanoid"], None, hip) for hip in (None, -120)]
    bent = [np.degrees(model.joint("left_hip_y").range).round(9).tolist() for model in models]
    assert bent == [[-110, 20], [-120, 20]]
    ranges = [np.delete(model.jnt_range, model.joint("left_hip_y").id, axis=0) for model in models]
    np.testing.assert_array_equal(*ranges)


def test_the_compiled_loop_takes_the_hip_along():
    task = make_task("humanoid", left_hip=-120)
    policy = MLP((376, 2, 17))
    player = task.native(task, policy)
    assert player.environment.model.joint("left_hip_y").range[0] == np.radians(-120)


@pytest.mark.parametrize(
    ("body", "degrees", "message"),
    [
        ("humanoid", 30, "from -180 to 20 degrees"),
        ("humanoid", "far", "from -180 to 20 degrees"),
        ("ant", -120, "a joint of the humanoid"),
    ],
)
def test_a_hip_that_cannot_be_is_refused(body, degrees, message):
    with pytest.raises(ValueError, match=message):
        model_of(BODIES[body], None, degrees)
