"""The compiled episodes of MuJoCo bodies, against stepping their environments."""

import logging
import signal
import subprocess
import sys
import time

import gymnasium as gym
import mujoco
import numpy as np
import pytest

import nses
from nses.core.moments import Moments, initial
from nses.core.seeding import Purpose, episode_seeds
from nses.experiment.evaluate import evaluate
from nses.experiment.settings.build import task_of
from nses.experiment.settings.config import changed
from nses.rollouts.behaviors import parse_behavior
from nses.rollouts.episode import GymnasiumPlayer, Interrupted, player
from nses.rollouts.native import body as library
from nses.rollouts.policies.mlp import MLP
from nses.rollouts.tasks.bodies import BODY_TASKS, SWIMMER_TRAP
from nses.rollouts.tasks.catalog import make_task
from nses.rollouts.tasks.mujoco import BodyEnv, BodyPlayer
from nses.rollouts.tasks.task import Task
from waiting import SOON, cpu_seconds, wait_until


def policy_for(task, hidden=(32, 32), **settings):
    facts = task.facts
    return MLP((facts.observation_space.shape[0], *hidden, facts.action_space.shape[0]), **settings)


def theta_of(policy, seed, scale=0.1):
    rng = np.random.default_rng(seed)
    return policy.init(rng) + rng.standard_normal(policy.size).astype(np.float32) * np.float32(
        scale
    )


def moments_of(policy, seed):
    """Of observations around zero with different spreads."""
    rng = np.random.default_rng(seed)
    seen = rng.standard_normal((50, policy.observation_size)) * rng.uniform(0.2, 3, (1, 1))
    return Moments(50.0, seen.sum(axis=0), (seen * seen).sum(axis=0))


def assert_same(a, b):
    np.testing.assert_equal(a.f, b.f)
    assert (a.length, a.blown_up) == (b.length, b.blown_up)
    np.testing.assert_array_equal(a.behavior, b.behavior)
    assert (a.observed is None) == (b.observed is None)
    if a.observed is not None:
        assert a.observed.count == b.observed.count
        np.testing.assert_array_equal(a.observed.sum, b.observed.sum)
        np.testing.assert_array_equal(a.observed.square, b.observed.square)


@pytest.mark.parametrize("name", BODY_TASKS)
def test_compiled_episodes_are_those_of_the_environment_bit_for_bit(name):
    task = make_task(name, max_steps=300)
    policy = policy_for(task)
    compiled, stepped = player(task, policy), player(task, policy, native=False)
    assert isinstance(compiled, BodyPlayer)
    assert isinstance(stepped, GymnasiumPlayer)
    for seed in range(4):
        theta, moments = theta_of(policy, seed), moments_of(policy, seed)
        arguments = {"action_noise": 0.02 * (seed % 2), "contributes": seed > 1}
        a, b = (p.play(theta, moments, seed, **arguments) for p in (compiled, stepped))
        assert a.length > 10
        assert_same(a, b)


@pytest.mark.parametrize("observation", ["0:45", "2:9,30,60:62,200:"])
def test_compiled_episodes_see_the_numbers_that_are_chosen(observation):
    config = changed(nses.recipe("humanoid", "laptop", "es"), {"observation": observation})
    task = task_of(config)
    policy = policy_for(task, ())
    compiled, stepped = player(task, policy), player(task, policy, native=False)
    assert isinstance(compiled, BodyPlayer)
    theta, moments = theta_of(policy, 1), moments_of(policy, 1)
    a, b = (p.play(theta, moments, 1, contributes=True) for p in (compiled, stepped))
    assert a.length > 10
    assert_same(a, b)


def test_numbers_in_too_many_places_are_seen_through_gymnasium():
    every_other = ",".join(map(str, range(0, 376, 2)))
    config = changed(nses.recipe("humanoid", "laptop", "es"), {"observation": every_other})
    task = task_of(config)
    assert isinstance(player(task, policy_for(task, ())), GymnasiumPlayer)


@pytest.mark.parametrize("settings", [{"activation": "relu"}, {"normalize": False}])
def test_compiled_episodes_know_every_network(settings):
    task = make_task("swimmer-trap", max_steps=50)
    policy = policy_for(task, (16,), **settings)
    theta = theta_of(policy, 1)
    a, b = (player(task, policy, native=x).play(theta, initial(8), 7) for x in (True, False))
    assert_same(a, b)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("humanoid", {"reward": "directional"}),
        ("humanoid", {"reward": "isotropic", "trap": {"half_width": 2.0}}),
        ("ant-trap", {"reward": "directional", "trap": None}),
        ("halfcheetah", {"reward": "forward"}),
    ],
)
def test_compiled_episodes_know_every_reward_and_trap(name, arguments):
    task = make_task(name, max_steps=60, **arguments)
    policy = policy_for(task)
    theta = theta_of(policy, 3)
    moments = initial(policy.observation_size)
    players = [player(task, policy, native=x) for x in (True, False)]
    assert isinstance(players[0], BodyPlayer)
    assert_same(*(p.play(theta, moments, 11) for p in players))


def test_an_episode_does_not_depend_on_those_before():
    task = make_task("halfcheetah", max_steps=100)
    policy = policy_for(task)
    used, moments = player(task, policy), initial(17)
    for seed in range(3):
        used.play(theta_of(policy, seed), moments, seed)
    a, b = (p.play(theta_of(policy, 9), moments, 9) for p in (used, player(task, policy)))
    assert_same(a, b)


def test_long_episodes_go_on_where_a_slice_ended():
    task = make_task("swimmer-trap").revised(step_limit=2300)
    policy = policy_for(task, (8,))
    environment = BodyEnv("swimmer", "forward", dict(SWIMMER_TRAP))
    stepped = Task("t", lambda: environment, task.behavior, 2300)
    theta, moments = theta_of(policy, 1), initial(8)
    a = player(task, policy).play(theta, moments, 1, action_noise=0.1, contributes=True)
    b = player(stepped, policy).play(theta, moments, 1, action_noise=0.1, contributes=True)
    assert a.length == 2300
    assert_same(a, b)


@pytest.mark.parametrize("native", [True, False])
def test_p7_a_long_episode_stops_when_asked_to(native):
    task = make_task("swimmer-trap").revised(step_limit=10**8)
    task = task if native else Task("t", lambda: BodyEnv("swimmer"), task.behavior, 10**8)
    policy = policy_for(task, (8,))
    end = time.monotonic() + 0.5
    long = player(task, policy, should_stop=lambda: time.monotonic() > end)
    with pytest.raises(Interrupted):
        long.play(theta_of(policy, 1), initial(8), 1)
    assert time.monotonic() < end + SOON


LONG = """
import nses
task = nses.make_task("swimmer-trap").revised(step_limit=10**7)
nses.train(task, n=4, max_steps=10**7, evaluation_episodes=1, run_dir="run", backend="{}",
           workers=1)
"""


@pytest.mark.parametrize("backend", ["serial", "processes"])
def test_p7_ctrl_c_in_a_native_episode_of_minutes_stops_it(backend, tmp_path, launch):
    process = launch(
        [sys.executable, "-c", LONG.format(backend)],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    wait_until((tmp_path / "run" / "config.json").exists, process)
    enough = cpu_seconds(process.pid) + 3.0  # the first episode is under way
    wait_until(lambda: cpu_seconds(process.pid) > enough, process)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=SOON)
    assert "SIGINT" in error, error


def fragile(strength):
    """A half-cheetah whose motors are far too strong."""
    environment = BodyEnv("halfcheetah", "directional")
    environment.model.actuator_gear[:] *= strength
    return environment


@pytest.mark.parametrize("strength", [1e4, 1e9, 1e15])
def test_e4_a_blow_up_ends_a_compiled_episode_as_it_ends_a_stepped_one(strength, capfd):
    task = Task("t", lambda: fragile(strength), parse_behavior("final:x,y"), 200)
    policy = policy_for(task)
    theta, moments = theta_of(policy, 1), initial(17)
    a = BodyPlayer(fragile(strength), policy, 200).play(theta, moments, 1, contributes=True)
    b = GymnasiumPlayer(task, policy).play(theta, moments, 1, contributes=True)
    assert a.blown_up
    assert a.length < 200
    assert np.isfinite(a.f)
    assert_same(a, b)
    assert capfd.readouterr() == ("", "")


def test_e2_a_state_that_is_not_finite_from_the_start_is_worth_nan():
    environment = BodyEnv("halfcheetah", "directional")
    begin = environment.begin

    def broken(rng):
        place = begin(rng)
        environment.data.qvel[1] = np.nan
        return place

    environment.begin = broken
    policy = MLP((17, 6))
    played = BodyPlayer(environment, policy, 10).play(theta_of(policy, 0), initial(17), 0)
    assert np.isnan(played.f)
    assert played.length == 0
    assert np.isnan(played.behavior).all()


@pytest.mark.parametrize("kind", ["humanoid", "halfcheetah"])
def test_e1_a_network_that_says_nan_is_worth_nan(kind):
    task = make_task(kind, max_steps=5)
    policy = policy_for(task, (4,))
    theta = np.full(policy.size, np.nan, np.float32)
    moments = initial(policy.observation_size)
    a, b = (player(task, policy, native=x).play(theta, moments, 0) for x in (True, False))
    assert np.isnan(a.f)
    assert_same(a, b)


def test_blow_ups_are_counted_in_the_metrics(tmp_path):
    task = Task("fragile", lambda: fragile(1e9), parse_behavior("final:x,y"), 50)
    run = nses.train(
        task, n=8, generations=2, evaluation_episodes=2, members=1, sigma=0.5,
        run_dir=str(tmp_path / "run"), backend="serial",
    )  # fmt: skip
    assert all(0 < line["blown_up"] <= 10 for line in run.metrics)
    assert all(line["failed"] == 0 for line in run.metrics)


@pytest.mark.parametrize(("name", "identifier"), [("humanoid", "NSES/Humanoid-v0")])
def test_a_trained_policy_gets_in_gymnasium_what_evaluate_says(name, identifier, tmp_path):
    run = nses.train(name, recipe="smoke", generations=1, run_dir=str(tmp_path), backend="serial")
    assert run.state.best.theta.size == 166_673
    tested, policy = evaluate(run, episodes=3), run.policy("best")
    environment = gym.make(identifier)
    for seed, f, length, b in zip(
        episode_seeds(0, 0, 0, Purpose.FRESH_EPISODES, 3),
        tested.returns,
        tested.lengths,
        tested.behaviors,
        strict=True,
    ):
        observation, info = environment.reset(seed=int(seed))
        total, steps, end = 0.0, 0, False
        while not end:
            observation, reward, terminated, truncated, info = environment.step(policy(observation))
            total, steps, end = total + float(reward), steps + 1, terminated or truncated
        assert (total, steps) == (f, length)
        assert [info["x"], info["y"]] == b.tolist()


def test_other_behaviors_and_arguments_go_through_gymnasium():
    task = make_task("halfcheetah", "mean:x", max_steps=5)
    policy = policy_for(task)
    assert isinstance(player(task, policy), GymnasiumPlayer)
    with pytest.raises(ValueError, match="must take the 17 numbers"):
        player(make_task("halfcheetah"), MLP((5, 6)))


@pytest.mark.parametrize(
    ("trouble", "reason"),
    [("missing", "no library of version"), ("other", "has version"), ("broken", "too short")],
)
def test_where_the_library_cannot_be_loaded_gymnasium_takes_over_with_a_warning(
    trouble, reason, tmp_path, monkeypatch, caplog
):
    name = f"libmujoco.so.{mujoco.mj_versionString()}"
    if trouble == "missing":
        monkeypatch.setattr(library.mujoco, "__file__", str(tmp_path / "__init__.py"))
    elif trouble == "other":
        monkeypatch.setattr(library.mujoco, "mj_version", lambda: 1)
    else:
        (tmp_path / name).write_bytes(b"no library")
        monkeypatch.setattr(library.mujoco, "__file__", str(tmp_path / "__init__.py"))
    task = make_task("swimmer-trap", max_steps=20)
    policy = policy_for(task)
    with caplog.at_level(logging.WARNING, "nses"):
        fallback = player(task, policy)
    assert isinstance(fallback, GymnasiumPlayer)
    assert "Playing through Gymnasium: the same results, more slowly." in caplog.text
    assert reason in caplog.text
    monkeypatch.undo()
    theta, moments = theta_of(policy, 1), initial(8)
    assert_same(fallback.play(theta, moments, 2), player(task, policy).play(theta, moments, 2))


# Gymnasium's own MuJoCo environments.
