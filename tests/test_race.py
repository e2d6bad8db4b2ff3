"""The race judges all contenders alike, and keeps what is finished."""

import math
import signal
import subprocess
from types import SimpleNamespace

import gymnasium as gym
import numpy as np
import pytest
from benchmarks import race, rivals
from benchmarks.racing import judge, ours, results
from benchmarks.racing.points import Network, Point, Recorder, current, recorded
from benchmarks.racing.results import Row, curves, minutes_to, tables
from benchmarks.search import REPORTING

import nses
from nses import Config
from nses.core.moments import Moments
from nses.rollouts.policies.mlp import MLP
from nses.rollouts.tasks.adapted import chosen
from nses.rollouts.tasks.mujoco import BodyEnv
from waiting import gone


def run(contender, seed, returns, task="humanoid", budget=20.0):
    return [
        Row(contender, task, seed, budget, minute + 1.0, 1000 * (minute + 1), mean)
        for minute, mean in enumerate(returns)
    ]


def network(outputs=2, inputs=3, limit=math.inf):
    rng = np.random.default_rng(0)
    layers = ((rng.normal(size=(outputs, inputs)), rng.normal(size=outputs)),)
    return Network(np.arange(inputs) / 4, np.full(inputs, 2.0), limit, layers)


def test_a_threshold_is_reached_when_a_policy_is_that_good_for_the_first_time():
    rows = run("es", 0, [10.0, 1200.0, 900.0, 3000.0])
    assert [minutes_to(rows, x) for x in (1000, 2500, 5000)] == [2.0, 4.0, math.inf]


def test_the_table_has_medians_ranges_and_how_many_runs_got_there():
    rows = [
        *run("es", 0, [1100.0, 3000.0]), *run("es", 1, [0.0, 1000.0]), *run("es", 2, [9.0, 2600.0]),
        *run("ars", 0, [10.0, 20.0]),
    ]  # fmt: skip
    lines = list(tables(rows))
    assert lines[0].startswith("| Humanoid-v5 | minutes to 1,000 | minutes to 2,500 |")
    assert lines[2] == (
        "| nses, ES | 2.0 (1.0–2.0) | 2.0 (2 of 3 runs) | – (0 of 3 runs) "
        "| 2,600 (1,000–3,000) | 0.002 |"
    )
    assert "| SB3-contrib, ARS | – (0 of 1 runs) |" in lines[3]
    assert not any("HalfCheetah" in line for line in lines)


def test_curves_are_drawn_where_every_seed_has_a_policy(tmp_path):
    late = run("es", 1, [1.0, 2.0, 3.0])[1:]
    x, y = curves([run("es", 0, [4.0, 5.0, 6.0]), late])
    np.testing.assert_array_equal(x, [2.0, 3.0])
    np.testing.assert_array_equal(y, [[5.0, 6.0], [2.0, 3.0]])
    results.draw([*run("es", 0, [4.0, 5.0]), *late], tmp_path / "race.png")
    assert (tmp_path / "race.png").stat().st_size > 1000


def test_finished_runs_are_kept_and_the_others_run_again(tmp_path, monkeypatch, capsys):
    file, asked = tmp_path / "race.csv", []

    def rows_of(contender, task, seed, minutes):
        asked.append((contender, task, seed, minutes))
        if len(asked) == 2:
            raise RuntimeError("ars failed")
        if len(asked) == 3:
            raise KeyboardInterrupt
        return run(contender, seed, [1.0, 2.5], task, minutes)

    monkeypatch.setattr(race, "rows_of", rows_of)
    monkeypatch.setattr(rivals, "install", lambda: None)
    monkeypatch.setattr(race.os, "sched_setaffinity", lambda pid, cpus: None)
    monkeypatch.setattr(race.signal, "signal", lambda *_: None)
    words = ["--seeds", "2", "--tasks", "halfcheetah", "--contenders", "es", "ars"]
    words += ["--file", str(file)]
    with pytest.raises(KeyboardInterrupt):
        race.main([*words, "--minutes", "0.7"])
    assert race.main([*words, "--minutes", "0.7"]) == 0
    first, second, *_ = REPORTING
    runs = [("es", first), ("ars", first), ("es", second)]
    assert [(c, s) for c, _, s, _ in asked] == [*runs, *runs[1:], ("ars", second)]
    assert results.kept(file)[:2] == run("es", first, [1.0, 2.5], "halfcheetah", 0.7)
    assert "| SB3-contrib, ARS |" in capsys.readouterr().out
    assert race.main([*words, "--minutes", "2"]) == 0  # another budget is another race
    assert len(asked) == 10


def test_a_run_is_judged_by_the_policies_that_it_had_at_regular_times():
    points = [Point(x, int(x), network()) for x in (5.0, 9.0, 31.0)]
    assert current(points, 4.9) is None
    assert current(points, 9.0) is points[1]
    assert current(points, 30.0) is points[1]
    assert current(points, 99.0) is points[2]


def test_a_policy_comes_back_from_disk_as_it_was(tmp_path):
    record, policy = Recorder(tmp_path, start=0.0), network(limit=0.3)
    record(12, policy)
    record(34, network())
    (tmp_path / "unfinished").write_bytes(b"killed")
    first, second = recorded(tmp_path)
    assert (first.steps, second.steps) == (12, 34)
    assert first.seconds <= second.seconds
    o = np.array([1.0, -2.0, 3.0])
    np.testing.assert_array_equal(first.network(o), policy(o))
    x = np.clip((o - policy.mean) / 2.0, -0.3, 0.3)
    np.testing.assert_allclose(policy(o), policy.layers[0][0] @ x + policy.layers[0][1])


def test_the_judge_plays_gymnasiums_environment_and_clips_actions():
    with gym.make("HalfCheetah-v5") as env:
        large = Network(np.zeros(17), np.ones(17), 1.0, ((np.zeros((6, 17)), np.full(6, 9.0)),))
        env.reset(seed=judge.FIRST_SEED)
        total = sum(env.step(np.ones(6, np.float32))[1] for _ in range(1000))
    assert judge.mean_return("HalfCheetah-v5", large, episodes=1) == pytest.approx(total)


def test_gymnasiums_humanoid_observes_all_that_ours_does_and_is_not_always_zero():
    with gym.make("Humanoid-v5") as theirs:
        seen, _ = theirs.reset(seed=3)
        own = BodyEnv("humanoid", "directional")
        ours_seen, _ = own.reset(seed=3)
        rng, mask = np.random.default_rng(0), ours.observed("humanoid", ours_seen.size)
        for _ in range(15):
            np.testing.assert_allclose(ours_seen[mask], seen, rtol=1e-6, atol=1e-9)
            assert not ours_seen[~mask].any()
            action = rng.uniform(-0.4, 0.4, 17).astype(np.float32)
            seen, reward, *_ = theirs.step(action)
            ours_seen, own_reward, *_ = own.step(action)
            assert own_reward == pytest.approx(reward, rel=1e-6)


@pytest.mark.parametrize("observation", [None, "0:45", "3,20:50,300:"])
@pytest.mark.parametrize("hidden", [(), (5,)])
def test_our_policies_act_on_gymnasiums_observations_as_on_our_own(hidden, observation):
    config = Config(task="humanoid", hidden=hidden, observation=observation)
    _, choose = chosen(gym.spaces.Box(-9, 9, (376,)), config.observed or (":",))
    mask, rng = ours.observed("humanoid", 376), np.random.default_rng(0)
    o = np.where(mask, rng.normal(size=(4, 376)), 0.0)
    seen = np.stack([choose(x) for x in o])
    policy = MLP((seen.shape[1], *hidden, 17))
    moments = Moments(4.0, seen.sum(axis=0), (seen * seen).sum(axis=0))
    member = SimpleNamespace(theta=policy.init(rng), moments=moments)
    network = ours.network_of(config, member)  # type: ignore[arg-type]
    for whole, part in zip(o, seen, strict=True):
        np.testing.assert_allclose(
            network(whole[mask]), policy.bind(member.theta, moments)(part), rtol=1e-4, atol=1e-5
        )


@pytest.mark.parametrize("algorithm", ["es", "nsra-es"])
def test_we_train_with_the_laptop_recipe_for_gymnasiums_reward(algorithm, tmp_path, monkeypatch):
    trained = {}
    monkeypatch.setattr(nses, "train", lambda task, **given: trained.update(given, task=task))
    ours.main(algorithm, "humanoid", 7, tmp_path, 0.0)
    assert (trained["task"], trained["algorithm"], trained["seed"]) == ("humanoid", algorithm, 7)
    assert trained["environment"] == {"reward": "directional"}
    usual = {"task", "algorithm", "seed", "run_dir", "listener", "generations", "workers"}
    assert trained.keys() == usual | {"environment", "tensorboard", "pictures"}


def test_the_member_with_the_highest_score_speaks_for_a_population(tmp_path):
    zeros = Moments(1.0, np.zeros(17), np.zeros(17))
    members = [
        SimpleNamespace(theta=np.full(18 * 6, float(i), np.float32), moments=zeros)
        for i in range(2)
    ]
    config = Config(task="halfcheetah", hidden=())
    listener = ours.Listener(config, Recorder(tmp_path, 0.0))
    for member, score, steps in ((0, 5.0, 1), (1, 3.0, 2), (0, 2.0, 3)):
        state = SimpleNamespace(members=members, env_steps=steps)
        listener(state, {"member": member, "score": score})  # type: ignore[arg-type]
    points = recorded(tmp_path)
    assert [point.network.layers[0][1][0] for point in points] == [0.0, 0.0, 1.0]
    assert [point.steps for point in points] == [1, 2, 3]


def test_a_contender_that_fails_says_why(tmp_path, monkeypatch):
    monkeypatch.setattr(race.sys, "executable", "/bin/false")
    with pytest.raises(RuntimeError, match="es failed on humanoid"):
        race.run("es", "humanoid", 0, tmp_path, 60.0)


def test_a_rival_that_fails_says_why_and_shows_its_token_to_nobody(tmp_path, monkeypatch):
    python = tmp_path / "bin" / "python"
    python.parent.mkdir()
    python.write_text('#!/bin/sh\nls -l "$RAY_AUTH_TOKEN_PATH"\nexit 1\n')
    python.chmod(0o700)
    monkeypatch.setattr(rivals, "VENV", tmp_path)
    with pytest.raises(RuntimeError, match="ars failed on humanoid:\n-rw------- "):
        race.run("ars", "humanoid", 0, tmp_path, 60.0)


def test_a_contender_ends_with_everything_that_it_started():
    command = ["sh", "-c", "sleep 1000 & echo $!; wait"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, process_group=0) as process:
        assert process.stdout is not None
        started = int(process.stdout.readline())
        race.end(process)
    assert process.returncode == -signal.SIGTERM
    assert gone([started])
