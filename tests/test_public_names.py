"""Public names are a promise."""

import inspect
import subprocess
import sys

import gymnasium
import numpy as np
import pytest

import nses


def test_everything_promised_can_be_imported():
    for name in nses.__all__:
        assert getattr(nses, name) is not None, name
    assert set(nses.__all__) <= set(dir(nses))
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        nses.nonsense  # noqa: B018


def test_the_signatures_are_those_of_the_documentation():
    assert list(inspect.signature(nses.novelty).parameters) == ["b", "archive", "k", "distance"]
    assert inspect.signature(nses.novelty).parameters["distance"].default == "squared-euclidean"
    assert next(iter(inspect.signature(nses.centered_ranks).parameters)) == "x"
    assert list(inspect.signature(nses.Strategy).parameters)[:5] == [
        "algorithm", "theta", "n", "sigma", "k",
    ]  # fmt: skip
    assert {"task", "algorithm", "seed"} <= set(inspect.signature(nses.train).parameters)


def test_importing_the_package_makes_its_environments_known_in_any_order():
    for first, second in (("nses", "gymnasium"), ("gymnasium", "nses")):
        code = (
            f"import {first}, {second}; import gymnasium;"
            "print(gymnasium.make('NSES/PointTrap-v0').spec.max_episode_steps)"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert done.stdout.strip() == "300", done.stderr
    gymnasium.make("nses:NSES/PointTrap-v0").close()


def test_a_trained_policy_acts_in_the_environment(tmp_path):
    run = nses.train("point-trap", recipe="smoke", backend="serial", run_dir=tmp_path / "run")
    policy = nses.load(run.path).policy("best")
    environment = gymnasium.make("NSES/PointTrap-v0")
    observation, _ = environment.reset(seed=0)
    action = policy(observation)
    assert environment.action_space.contains(action)
    assert "418 parameters" in repr(policy) or "parameters" in repr(policy)
    np.testing.assert_array_equal(action, run.policy()(observation))
