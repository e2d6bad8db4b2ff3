import logging
import subprocess
import sys

import gymnasium as gym
import mujoco
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from nses.core.moments import initial
from nses.rollouts.behaviors import parse_behavior
from nses.rollouts.conformance import check_task
from nses.rollouts.episode import GymnasiumPlayer
from nses.rollouts.policies.mlp import MLP
from nses.rollouts.tasks.bodies import BODIES, BODY_TASKS, REWARDS
from nses.rollouts.tasks.catalog import make_task
from nses.rollouts.tasks.mujoco import BodyEnv
from nses.rollouts.tasks.task import Task

STILL = np.zeros(17, np.float32)


def centre(environment):
    """The centre of mass by hand: the mean of the bodies, weighted by their masses."""
    m, x = environment.model.body_mass, environment.data.xipos
    return (m @ x / m.sum())[:2]


def actions(environment, steps, seed=0):
    environment.action_space.seed(seed)
    return [environment.action_space.sample() for _ in range(steps)]


def play(environment, seed, steps=60):
    """Everything that an episode with random actions returns, as rows of numbers."""
    observation, info = environment.reset(seed=seed)
    rows = [np.array([*observation, info["x"], info["y"]])]
    for action in actions(environment, steps):
        observation, reward, end, _, info = environment.step(action)
        rows.append(np.array([*observation, info["x"], info["y"], reward, end]))
        if end:
            break
    return np.concatenate(rows)


@pytest.mark.parametrize("identifier", [task.identifier for task in BODY_TASKS.values()])
def test_environments_pass_the_check_of_gymnasium_without_a_warning(identifier):
    check_env(gym.make(identifier).unwrapped, skip_render_check=True)


@pytest.mark.parametrize("name", BODY_TASKS)
def test_tasks_pass_our_own_check(name):
    check_task(make_task(name))


@pytest.mark.parametrize(
    ("name", "observations", "controls", "limit", "goal"),
    [
        ("humanoid", 376, 17, 1000, None),
        ("humanoid-trap", 376, 17, 1000, 5.6),
        ("swimmer", 8, 2, 400, None),
        ("swimmer-trap", 8, 2, 400, 4.6),
        ("ant-trap", 27, 8, 1000, 5.6),
        ("halfcheetah", 17, 6, 1000, None),
    ],
)
def test_tasks_look_at_the_centre_of_mass(name, observations, controls, limit, goal):
    task = make_task(name)
    assert task.facts.observation_space.shape == (observations,)
    assert task.facts.action_space.shape == (controls,)
    assert (task.behavior.name, task.behavior_size) == ("final:x,y", 2)
    assert task.step_limit == limit
    assert task.goal == (None if goal is None else pytest.approx(goal))


def test_a_goal_belongs_to_the_reward_of_a_trap():
    assert make_task("humanoid-trap", trap={"back": 7.0}).goal == pytest.approx(7.1)
    assert make_task("humanoid-trap", reward="directional").goal is None
    assert make_task("humanoid-trap", trap=None).goal is None


def test_a_humanoid_that_lands_feels_its_weight_in_its_feet_and_nowhere_else():
    environment = BodyEnv()
    environment.reset(seed=0)
    feet = [environment.model.body(name).id for name in ("right_foot", "left_foot")]
    upward = []
    for _ in range(20):
        observation, *_ = environment.step(STILL)
        forces = observation[-84:].reshape(14, 6)
        assert not np.delete(forces, feet, axis=0).any()
        upward.append(forces[feet, 5].sum())
    weight = environment.model.body_mass.sum() * 9.81
    assert max(upward[:8]) == 0.0  # it starts in the air
    assert max(upward) > 3 * weight
    assert 0.6 * weight < min(upward[-5:]) < max(upward[-5:]) < weight


def test_episodes_start_within_a_hundredth_of_the_upright_pose_and_differ():
    environment = BodyEnv()
    starts = []
    for seed in range(20):
        environment.reset(seed=seed)
        starts.append(
            np.concatenate([environment.data.qpos - environment.model.qpos0, environment.data.qvel])
        )
    assert 0.009 < np.abs(starts).max() <= 0.01
    assert (np.std(starts, axis=0) > 0.002).all()


@pytest.mark.parametrize(
    ("height", "end"), [(0.99, True), (1.01, False), (1.99, False), (2.01, True)]
)
def test_an_episode_ends_when_the_humanoid_lies_or_flies(height, end):
    environment = BodyEnv()
    environment.reset(seed=0)
    environment.model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT  # the floor
    environment.data.qpos[2] = height
    _, _, terminated, truncated, info = environment.step(STILL)
    assert (terminated, truncated, info["blown_up"]) == (end, False, False)


@pytest.mark.parametrize("trap", [None, {}], ids=["free", "trap"])
@pytest.mark.parametrize("kind", REWARDS)
def test_rewards_are_those_of_a_computation_by_hand(kind, trap):
    environment = BodyEnv("humanoid", kind, trap)
    environment.reset(seed=3)
    environment.data.qvel[:2] = 1.0, -2.0
    impacts = []
    for action in actions(environment, 20):
        before = centre(environment)
        _, reward, _, _, info = environment.step(action)
        after = centre(environment)
        assert (info["x"], info["y"]) == (pytest.approx(after[0]), pytest.approx(after[1]))
        velocity = {
            "isotropic": (np.hypot(*after) - np.hypot(*before)) / 0.003,
            "directional": (after[0] - before[0]) / 0.003,
            "forward": (after[0] - before[0]) * 4,
        }[kind]
        control = 0.1 * np.square(action, dtype=np.float64).sum()
        contact = min(0.5e-6 * np.square(environment.data.cfrc_ext).sum(), 10.0)
        costs = (0.0, 0.0, 0.0) if kind == "forward" else (-control, -contact, 5.0)
        terms = [info[f"reward_{name}"] for name in ("forward", "ctrl", "contact", "survive")]
        np.testing.assert_allclose(terms, [0.25 * velocity, *costs], rtol=1e-9, atol=1e-9)
        assert reward == pytest.approx(sum(terms))
        impacts.append(contact)
    assert 0.0 < max(impacts) < 10.0


def test_hard_landings_cost_no_more_than_ten():
    environment = BodyEnv()
    environment.reset(seed=0)
    environment.data.qvel[2] = -30.0
    costs = [environment.step(STILL)[4]["reward_contact"] for _ in range(4)]
    assert min(costs) == -10.0


@pytest.mark.parametrize("name", ["humanoid-trap", "swimmer-trap", "ant-trap"])
def test_the_return_in_a_trap_is_the_way_of_the_centre_of_mass_along_x(name):
    environment = make_task(name).make()
    _, info = environment.reset(seed=1)
    start, total = info["x"], 0.0
    for action in actions(environment, 100):
        _, reward, end, _, info = environment.step(action)
        total += float(reward)
        if end:
            break
    assert total == pytest.approx(info["x"] - start, abs=1e-12)
    assert abs(total) > 1e-3


@pytest.mark.parametrize("identifier", [task.identifier for task in BODY_TASKS.values()])
def test_a_used_environment_plays_the_episodes_of_a_new_one(identifier):
    used = gym.make(identifier).unwrapped
    first, other, again = (play(used, seed) for seed in (1, 2, 1))
    np.testing.assert_array_equal(first, again)
    np.testing.assert_array_equal(play(gym.make(identifier).unwrapped, 1), first)
    assert not np.array_equal(other[:20], first[:20])


BLOW_UPS = {"speed": ("qvel", 1e30), "position": ("qpos", 1e30), "NaN": ("qvel", np.nan)}


@pytest.mark.parametrize("cause", BLOW_UPS)
@pytest.mark.parametrize("identifier", [task.identifier for task in BODY_TASKS.values()])
def test_e4_a_simulation_that_blows_up_ends_its_episode_with_what_was_good(
    identifier, cause, tmp_path, monkeypatch, capfd
):
    monkeypatch.chdir(tmp_path)
    environment = gym.make(identifier).unwrapped
    array, value = BLOW_UPS[cause]
    environment.reset(seed=1)
    for action in actions(environment, 5):
        observation, _, _, _, good = environment.step(action)
    assert not good["blown_up"]
    getattr(environment.data, array)[0] = value
    time = environment.data.time
    last, reward, terminated, _, info = environment.step(action)
    assert environment.data.time < time  # MuJoCo has begun anew
    assert (reward, terminated, info["blown_up"]) == (0.0, True, True)
    assert (info["x"], info["y"]) == (good["x"], good["y"])
    np.testing.assert_array_equal(last, observation)
    assert list(tmp_path.iterdir()) == []
    assert capfd.readouterr() == ("", "")

    np.testing.assert_array_equal(play(environment, 2), play(gym.make(identifier).unwrapped, 2))


def test_e4_a_body_on_its_way_to_infinity_is_not_paid_for_it():
    environment = BodyEnv("humanoid", "forward")
    _, start = environment.reset(seed=1)
    environment.data.qvel[0] = 1e6
    _, reward, terminated, _, info = environment.step(STILL)
    assert not environment.data.warning.number.any()
    assert (reward, terminated, info["blown_up"]) == (0.0, True, True)
    assert info["x"] == start["x"]


class Fragile(BodyEnv):
    """Blows up in its seventh step."""

    def step(self, action):
        if self.data.time > 6 * 0.05 - 1e-9:
            self.data.qvel[0] = np.inf
        return super().step(action)


def test_e4_return_and_behavior_of_a_candidate_are_those_before_the_blow_up():
    whole, broken = (
        Task("t", lambda e=e: e("halfcheetah", "directional"), parse_behavior("final:x,y"), steps)
        for e, steps in ((BodyEnv, 6), (Fragile, 100))
    )
    policy = MLP((17, 6))
    theta = np.linspace(-1, 1, policy.size, dtype=np.float32)
    a, b = (GymnasiumPlayer(t, policy).play(theta, initial(17), 5) for t in (whole, broken))
    assert (a.length, b.length) == (6, 7)
    assert a.f == b.f
    np.testing.assert_array_equal(a.behavior, b.behavior)


def test_e4_warnings_of_mujoco_go_to_the_log(caplog):
    environment = BodyEnv()
    environment.reset(seed=0)
    environment.data.qvel[0] = np.nan
    with caplog.at_level(logging.DEBUG, "nses"):
        environment.step(STILL)
        mujoco.get_mju_user_warning()("Too many contacts.")
    assert [record.levelno for record in caplog.records] == [logging.DEBUG, logging.WARNING]
    assert "value in QVEL at DOF 0" in caplog.text
    assert "Too many contacts." in caplog.text


def test_e4_whoever_has_a_handler_for_warnings_keeps_it():
    before, seen = mujoco.get_mju_user_warning(), []
    mujoco.set_mju_user_warning(seen.append)
    try:
        environment = BodyEnv()
        environment.reset(seed=0)
        environment.data.qvel[0] = np.nan
        environment.step(STILL)
    finally:
        mujoco.set_mju_user_warning(before)
    assert len(seen) == 1


@pytest.mark.parametrize("identifier", [task.identifier for task in BODY_TASKS.values()])
def test_e5_actions_out_of_range_are_clipped(identifier):
    ends = []
    for scale in (1.0, 1e30):
        environment = gym.make(identifier).unwrapped
        environment.reset(seed=1)
        action = environment.action_space.high * np.float32(scale)
        action[0] *= -1
        observation, reward, *_ = environment.step(action)
        ends.append([*observation, reward])
    np.testing.assert_array_equal(*ends)


@pytest.mark.parametrize("kind", REWARDS)
def test_e1_an_action_that_is_nan_is_worth_nan(kind):
    """MuJoCo would take it for zero."""
    environment = BodyEnv("humanoid", kind)
    environment.reset(seed=0)
    _, reward, *_ = environment.step(np.full(17, np.nan, np.float32))
    assert np.isnan(reward)


def test_body_trap_and_reward_are_independent_choices():
    for body in BODIES:
        for kind in REWARDS:
            for trap in (None, {}, {"half_width": 2.0}):
                environment = BodyEnv(body, kind, trap)
                observation, _ = environment.reset(seed=0)
                assert environment.observation_space.contains(observation)


def test_arguments_of_a_task_choose_the_reward():
    environment = make_task("humanoid", reward="directional").make().unwrapped
    assert isinstance(environment, BodyEnv)
    assert environment.reward == BODIES["humanoid"].reward
    with pytest.raises(ValueError, match=r"reward must be one of forward.*got 'sideways'"):
        make_task("humanoid", reward="sideways").make()
    with pytest.raises(ValueError, match=r"body must be one of humanoid.*got 'snake'"):
        make_task("humanoid", body="snake").make()
    with pytest.raises(ValueError, match=r"with some of back, half_width, .*got \{'x': 1\}"):
        make_task("humanoid", trap={"x": 1})


def test_mujoco_is_not_imported_before_an_environment_is_made():
    code = (
        "import sys, nses; task = nses.make_task('humanoid-trap'); "
        "assert 'mujoco' not in sys.modules; task.make(); assert 'mujoco' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
