"""Runs that begin with a policy of another run."""

import shutil

import numpy as np
import pytest

import nses
from nses.core.seeding import Purpose, generator
from nses.experiment.runs.replay import play, rebuild
from nses.experiment.runs.start import START, place_of
from nses.experiment.runs.storage import CheckpointRefused

SMALL = {
    "recipe": "smoke", "backend": "serial", "tensorboard": False, "moments_probability": 0.5,
    "generations": 3,
}  # fmt: skip


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    return nses.train("CartPole-v1", run_dir=tmp_path_factory.mktemp("source") / "run", **SMALL)


@pytest.fixture(scope="module")
def begun(source, tmp_path_factory):
    """A run that was stopped on its way, and its states."""
    states = {}

    def stop(state, record):
        states[state.generation] = state
        if state.generation == 2:
            raise nses.StopTraining

    run = nses.train(
        "CartPole-v1", run_dir=tmp_path_factory.mktemp("begun") / "run", seed=4, listener=stop,
        keep_every=1, start_from=f"{source.path}:best", environment={"sutton_barto_reward": True},
        **SMALL,
    )  # fmt: skip
    return run, states


def test_a_run_begins_with_the_policy_and_moments_of_another(source, begun):
    run, _ = begun
    first, second = (rebuild(run, 0, member=m) for m in (0, 1))
    best = source.best
    assert first.theta.tobytes() == best.theta.tobytes()
    assert first.moments.row.tobytes() == second.moments.row.tobytes() == best.moments.row.tobytes()
    away = generator(4, 0, 1, Purpose.POLICY_INIT).standard_normal(best.theta.size, np.float32)
    np.testing.assert_array_equal(second.theta, best.theta + np.float32(0.02) * away)
    origin = run.origin
    assert (origin.run, origin.which, origin.digest) == (str(source.path), "best", source.digest)
    assert str(origin) == f"best of {source.path}, whose digest was {source.digest}"


def test_it_is_resumed_and_replayed_without_the_other_run(source, begun, tmp_path):
    run, states = begun
    shutil.copytree(run.path, tmp_path / "run")
    whole = nses.train(
        "CartPole-v1", run_dir=tmp_path / "whole", seed=4, start_from=f"{source.path}:best",
        environment={"sutton_barto_reward": True}, **SMALL,
    )  # fmt: skip
    hidden = source.path.with_name("hidden")
    source.path.rename(hidden)
    try:
        assert nses.resume(tmp_path / "run", backend="processes", workers=2).digest == whole.digest
        shutil.rmtree(tmp_path / "run" / "checkpoints")
        bare = nses.load(tmp_path / "run")
        for m, member in enumerate(states[2].members):
            assert rebuild(bare, 2, member=m).theta.tobytes() == member.theta.tobytes()
        past = rebuild(bare, 1, candidate=3)
        assert play(bare, past).returns[0] == past.logged
    finally:
        hidden.rename(source.path)


def test_any_policy_of_the_other_run_will_do(source, tmp_path):
    for i, which in enumerate(("final", "member:1", "generation:2")):
        place = f"{source.path}:{which}"
        run = nses.train("CartPole-v1", run_dir=tmp_path / str(i), start_from=place, **SMALL)
        assert run.origin.policy.theta.tobytes() == source.parameters(which)[0].tobytes()


@pytest.mark.parametrize("damage", ["gone", "bits"])
def test_a_copy_that_is_lost_is_missed_before_anything_is_played(damage, begun, tmp_path):
    shutil.copytree(begun[0].path, tmp_path / "run")
    file = tmp_path / "run" / START
    file.unlink()
    if damage == "bits":
        file.write_bytes(b"x" * 100)
    with pytest.raises(CheckpointRefused, match=START):
        nses.resume(tmp_path / "run")
    assert nses.load(tmp_path / "run").state.generation == 2


@pytest.mark.parametrize(
    ("task", "settings", "line"),
    [
        ("CartPole-v1", {"hidden": ()}, r"hidden: \(16, 16\) there, \(\) here"),
        ("CartPole-v1", {"activation": "relu"}, "activation: 'tanh' there, 'relu' here"),
        ("CartPole-v1", {"normalize": False}, "normalize: True there, False here"),
        ("MountainCar-v0", {}, "observation space: (.|\n)*action space: "),
    ],
)
def test_a_policy_that_would_mean_something_else_is_refused(task, settings, line, source, tmp_path):
    with pytest.raises(ValueError, match=f"cannot start from(.|\n)*{line}"):
        nses.train(task, run_dir=tmp_path / "run", start_from=str(source.path), **SMALL | settings)
    assert not (tmp_path / "run" / "config.json").exists()


def test_what_is_no_run_and_what_is_no_policy_is_refused(source, tmp_path):
    for place, message in (
        (str(tmp_path), "is not a run"),
        (f"{source.path}:worst", "policy must be best, final"),
    ):
        with pytest.raises(ValueError, match=message):
            nses.train("CartPole-v1", run_dir=tmp_path / "run", start_from=place, **SMALL)


def test_the_name_of_a_run_may_have_a_colon(tmp_path):
    (tmp_path / "a:b").mkdir()
    assert place_of(str(tmp_path / "a:b")) == (str(tmp_path / "a:b"), "best")
    assert place_of("runs/a") == ("runs/a", "best")
    assert place_of("runs/a:member:2") == ("runs/a", "member:2")


def test_a_loop_of_ones_own_brings_the_policy_along(source):
    config = nses.recipe("point-trap", "smoke", "es")
    config = nses.experiment.settings.config.changed(config, {"start_from": "runs/a"})
    with (
        pytest.raises(ValueError, match=r"start=nses.Start"),
        nses.search_of(config, nses.make_task("point-trap")),
    ):
        pass
    policy = np.full(418, 0.5, np.float32)
    start = nses.Start(policy, nses.Moments(1.0, np.zeros(6), np.ones(6)))
    with nses.search_of(config, nses.make_task("point-trap"), start=start) as search:
        assert search.newborn(0).theta.tobytes() == policy.tobytes()
