"""Training into a run directory, and what is refused or survived there."""

import errno
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import gymnasium
import numpy as np
import pytest

import nses
from nses.core.algorithms import NotFinite
from nses.core.values import State
from nses.errors import TaskBroken, TooManyFailures
from nses.experiment.runs import checkpoint
from nses.experiment.runs.storage import StorageFailed
from troubled import Calm, Wandering

SMALL = {"recipe": "smoke", "backend": "serial", "tensorboard": False}


def train(directory, task="point-trap", **settings):
    return nses.train(task, run_dir=directory, **({"seed": 1, **SMALL} | settings))


def test_a_run_leaves_everything_that_was_promised(tmp_path):
    run = train(tmp_path / "run", tensorboard=True)
    for name in ("config.json", "metrics.jsonl", "archive.safetensors", "best.safetensors"):
        assert (run.path / name).is_file(), name
    assert (run.path / "checkpoints" / "latest.json").is_file()
    assert any((run.path / "tensorboard").iterdir())
    assert run.finished
    assert [r["generation"] for r in run.metrics] == [1, 2, 3, 4, 5]
    assert len(run.state.archive) == 2 + 5
    assert len(run.retest) == 5
    assert run.best.score == max(r["score"] for r in run.metrics) or run.best.generation == 0


def test_what_is_no_task_and_what_is_no_behavior_is_said_to_be_so(tmp_path):
    with pytest.raises(ValueError, match=r"task must be the name .* got 5"):
        nses.train(5)
    task = nses.Task("calm", Calm, nses.Behavior("mine", lambda observation: [0.0]), 10)
    with pytest.raises(
        ValueError, match=r"behavior 'mine' failed: TypeError(.|\n)*\(observation, info\)"
    ):
        train(tmp_path / "run", task=task)


def test_s3_a_run_directory_that_cannot_be_written_is_noticed_before_the_first_episode(tmp_path):
    (tmp_path / "file").write_text("in the way")
    heard = []
    for impossible in (tmp_path / "file" / "run", Path("/proc/nses/run")):
        with pytest.raises(StorageFailed, match="cannot write to the run directory"):
            train(impossible, listener=lambda state, record: heard.append(record))
    assert not heard


def test_s11_a_name_that_is_too_long_for_a_directory_is_a_wrong_setting(tmp_path):
    with pytest.raises(ValueError, match="too long"):
        train(tmp_path / ("x" * 300))
    with pytest.raises(ValueError, match="path of a directory"):
        train("a\0b")


def test_s11_a_link_out_of_the_runs_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "point-trap").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ValueError, match="point-trap"):
        nses.train("point-trap", **SMALL)
    assert not list((tmp_path / "elsewhere").iterdir())


def test_s3_a_run_directory_that_vanishes_is_given_up_after_three_tries(tmp_path, caplog):
    def vanish(state: State, record: dict) -> None:
        if state.generation == 2:
            shutil.rmtree(tmp_path / "run")

    with pytest.raises(StorageFailed, match="after 3 attempts"):
        train(tmp_path / "run", generations=20, checkpoint_seconds=0.0, listener=vanish)
    assert caplog.text.count("could not be written") == 2


@pytest.mark.parametrize("failures", [1, 2, 3])
def test_s1_a_failed_checkpoint_is_retried_and_three_in_a_row_end_the_run(
    tmp_path, monkeypatch, failures
):
    original, calls = checkpoint.save, []

    def full(directory, state, *arguments, **keywords):
        calls.append(state.generation)
        if state.generation in range(3, 3 + failures):
            raise OSError(errno.ENOSPC, "No space left on device")
        return original(directory, state, *arguments, **keywords)

    monkeypatch.setattr(checkpoint, "save", full)
    whole = {"generations": 8, "checkpoint_seconds": 1e6, "keep_every": 3}
    if failures == 3:
        with pytest.raises(StorageFailed, match=r"generation 5 .* 3 attempts.*No space left"):
            train(tmp_path / "run", **whole)
        assert nses.load(tmp_path / "run").state.generation == 0  # the old one is intact
    else:
        run = train(tmp_path / "run", **whole)
        assert run.state.generation == 8
        assert calls[:3] == [0, 3, 4]  # tried again at the next generation
    monkeypatch.undo()
    resumed = train(tmp_path / "run", **whole)
    assert resumed.digest == train(tmp_path / "other", **whole).digest


def test_settings_about_a_task_of_ones_own_are_applied_or_refused(tmp_path):
    task = nses.Task("calm", Calm, nses.make_task("CartPole-v1").behavior, 10, distance="euclidean")
    run = train(tmp_path / "a", task=task, behavior="final-observation:0", max_steps=4)
    assert run.config.distance == "euclidean"
    assert run.facts.behavior_size == 1
    assert run.metrics[-1]["env_steps"] == 4 * run.metrics[-1]["episodes"]
    with pytest.raises(ValueError, match="takes no environment arguments"):
        train(tmp_path / "b", task=task, environment={"a": 1})


def test_e3_an_environment_that_always_raises_ends_at_once_with_its_traceback(tmp_path):
    with pytest.raises(ValueError, match="the motor is on fire"):
        train(tmp_path / "run", task="troubled:Raising", max_steps=10)


def test_e1_returns_that_are_never_finite_are_a_broken_task(tmp_path):
    with pytest.raises(TaskBroken, match="NaN or infinite"):
        train(tmp_path / "run", task="troubled:Unpaid", max_steps=10)


def test_e1_too_many_failures_end_the_run_with_a_valid_checkpoint(tmp_path):
    with pytest.raises(TooManyFailures, match="of 40 episodes failed"):
        train(tmp_path / "run", task="troubled:SometimesUnpaid", max_steps=10, n=40, generations=50)
    assert isinstance(nses.load(tmp_path / "run").state, State)


def test_e2_an_update_that_is_not_finite_is_not_applied_and_names_the_last_good_checkpoint(
    tmp_path,
):
    with pytest.raises(NotFinite, match="last good checkpoint is of generation"):
        train(tmp_path / "run", lr=1e38, optimizer="sgd", sigma=1e-3, generations=50)
    state = nses.load(tmp_path / "run").state
    assert all(np.isfinite(member.theta).all() for member in state.members)


def test_e19_huge_returns_train_as_well_as_small_ones(tmp_path):
    run = train(tmp_path / "run", task="troubled:Huge", max_steps=10)
    assert run.state.generation == 5
    assert np.isfinite(run.best.score)


def test_e18_an_environment_that_never_ends_needs_a_step_limit(tmp_path):
    with pytest.raises(ValueError, match="--max-steps"):
        train(tmp_path / "run", task="troubled:Endless")
    assert train(tmp_path / "run", task="troubled:Endless", max_steps=7).metrics[0]["failed"] == 0


def test_every_option_of_the_algorithm_trains(tmp_path):
    for number, options in enumerate(
        (
            {"selection": "fresh", "behavior_episodes": 1},
            {"selection": "round-robin", "behavior_episodes": 4},
            {"steps_per_generation": 10_000},
            {"ranks": "ordinal"},
            {"weight_per_member": True},
            {"optimizer": "sgd"},
            {"distance": "euclidean"},
            {"activation": "relu", "hidden": (8,)},
            {"hidden": ()},
            {"action_noise": 0.1, "normalize": True, "moments_probability": 1.0},
            {"environment": {"half_width": 1.5}},
            {"behavior": "trajectory:x,y"},
            {"behavior": "mean-observation:0,1"},
            {"native": False, "max_steps": 20},
        )
    ):
        run = train(tmp_path / str(number), generations=2, **options)
        assert run.state.generation == 2


def test_options_of_the_laptop_give_the_same_digest_for_any_workers_and_interruption(tmp_path):
    settings = {
        "task": "CartPole-v1", "algorithm": "nsra-es", "optimizer": "clipup", "l2": 0.0,
        "steps_per_generation": 900, "training_reward": 2.0, "moments_probability": 0.5,
        "half_life": 2,
    }  # fmt: skip
    whole = train(tmp_path / "whole", **settings)

    def soon(state, record):
        if state.generation == 2:
            raise nses.StopTraining

    workers = {"backend": "processes", "workers": 2}
    stopped = train(tmp_path / "parts", listener=soon, **(settings | workers))
    assert nses.resume(stopped.path, workers=1).digest == whole.digest


def test_native_and_python_episodes_give_the_same_digest(tmp_path):
    settings = {
        "generations": 2,
        "normalize": True,
        "moments_probability": 0.5,
        "action_noise": 0.1,
    }
    a = train(tmp_path / "a", **settings)
    b = train(tmp_path / "b", native=False, **settings)
    assert a.digest == b.digest


def test_a_task_of_ones_own_trains_and_its_policy_loads_without_it(tmp_path):
    task = nses.Task("calm", Calm, nses.make_task("CartPole-v1").behavior, 10)
    run = train(tmp_path / "run", task=task, generations=3, backend="processes", workers=2)
    action = nses.load(run.path).policy("best")(np.zeros(2))
    assert action.shape == (1,)
    assert nses.resume(run.path, task=task, generations=4).state.generation == 4


def test_workers_make_environments_that_only_the_coordinator_registered(tmp_path):
    gymnasium.register("Troubled/Calm-v7", Calm, max_episode_steps=10)
    try:
        run = train(tmp_path / "run", task="Troubled/Calm-v7", backend="processes", workers=2)
        assert run.finished
    finally:
        del gymnasium.registry["Troubled/Calm-v7"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Path("/nowhere/file").read_text(), "cannot be made(.|\n)*FileNotFoundError"),
        (lambda: 1 / 0, "cannot be made(.|\n)*ZeroDivisionError"),
        (lambda: "no environment", r"must make a gymnasium\.Env, got str"),
    ],
)
def test_e3_an_environment_that_cannot_be_made_is_said_to_be_so(tmp_path, make, message):
    task = nses.Task("none", make, nses.make_task("CartPole-v1").behavior, 5)
    with pytest.raises(ValueError, match=message):
        train(tmp_path / "run", task=task)
    assert not (tmp_path / "run").exists()


def test_environment_arguments_that_the_compiled_loop_does_not_know_turn_it_off(tmp_path):
    known, unknown = {"half_width": 1.5}, {"max_episode_steps": 50}
    assert nses.make_task("point-trap", **known).native is not None
    assert nses.make_task("point-trap", **unknown).native is None
    run = train(tmp_path / "run", generations=1, environment=unknown)
    assert run.metrics[0]["env_steps"] == 50 * run.metrics[0]["episodes"]


def test_the_listener_hears_of_every_generation(tmp_path):
    heard = []
    train(tmp_path / "run", listener=lambda state, record: heard.append(record["generation"]))
    assert heard == [1, 2, 3, 4, 5]


def test_a_listener_stops_a_run_that_is_resumed_exactly(tmp_path):
    def listener(state, record):
        if record["generation"] == 2:
            raise nses.StopTraining

    whole = train(tmp_path / "whole")
    stopped = train(tmp_path / "run", listener=listener)
    assert stopped.state.generation == len(stopped.metrics) == 2
    assert not stopped.finished
    resumed = nses.resume(tmp_path / "run")
    assert resumed.finished
    assert (resumed.digest, resumed.retest) == (whole.digest, whole.retest)


def test_a_listener_that_stops_the_last_generation_ends_the_run(tmp_path):
    def listener(state, record):
        if record["generation"] == 5:
            raise nses.StopTraining

    assert train(tmp_path / "run", listener=listener).finished


def test_what_a_listener_returns_does_not_stop_a_run(tmp_path):
    assert train(tmp_path / "run", listener=lambda state, record: True).finished


TINY_DISK = """
import sys
from nses.experiment.runs.storage import StorageFailed
import nses
try:
    nses.train("point-trap", recipe="smoke", seed=1, backend="serial", generations=400,
               hidden=(200, 200), checkpoint_seconds=0.0, run_dir=sys.argv[1], tensorboard=False)
except StorageFailed as error:
    print("failed:", error)
"""


@pytest.mark.slow
def test_s1_on_a_disk_that_is_really_full_the_old_checkpoint_stays_valid(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(disk)], capture_output=True
    )
    if mounted.returncode:
        pytest.skip("mounting a small disk needs root")
    try:
        done = subprocess.run(
            [sys.executable, "-c", TINY_DISK, str(disk / "run")], capture_output=True, text=True
        )
        assert "failed: the checkpoint of generation" in done.stdout, done.stderr
        assert nses.load(disk / "run").state.generation >= 0
        assert not list((disk / "run" / "checkpoints").glob(".writing*"))
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_recipes_and_keywords_make_the_configuration_that_is_stored(tmp_path):
    run = train(tmp_path / "run", generations=1, k=3)
    expected = replace(
        nses.recipe("point-trap", "smoke", "nsra-es"),
        seed=1, k=3, generations=1, backend="serial", tensorboard=False, run_dir=str(run.path),
        distance="squared-euclidean",
    )  # fmt: skip
    assert run.config == expected


def test_m4_logs_that_cannot_be_synced_are_warned_of_once_and_checkpoints_are_written_all_the_same(
    tmp_path, monkeypatch, caplog
):
    settings = {"generations": 6, "checkpoint_seconds": 0.0}
    whole, really, refused = train(tmp_path / "whole", **settings), os.fsync, []

    def fsync(descriptor):
        name = os.readlink(f"/proc/self/fd/{descriptor}")
        if name.endswith("/run/metrics.jsonl") and len(refused) < 3:
            refused.append(name)
            raise OSError(errno.ENOSPC, "No space left on device")
        really(descriptor)

    newest = []
    monkeypatch.setattr(os, "fsync", fsync)
    run = train(
        tmp_path / "run",
        **settings,
        listener=lambda state, _: newest.append(nses.load(tmp_path / "run").state.generation),
    )
    assert len(refused) == 3
    assert newest == [1, 2, 3, 4, 5, 6]
    assert caplog.text.count("metrics.jsonl") == 1
    assert "No space left on device" in caplog.text
    assert run.digest == whole.digest  # not a line was lost


@pytest.mark.parametrize("backend", ["serial", "processes"])
def test_l8_an_environment_that_changes_the_working_directory_does_not_move_the_run(
    tmp_path, monkeypatch, backend
):
    monkeypatch.chdir(tmp_path)
    own = nses.Task("wandering", Wandering, nses.make_task("CartPole-v1").behavior, 10)
    run = train("here", own, algorithm="es", n=4, generations=2, backend=backend, workers=1)
    assert Path.cwd() == tmp_path
    assert run.path == Path("here")
    assert run.finished
    assert nses.evaluate(run, episodes=2, task=own).returns.size == 2
    assert Path.cwd() == tmp_path
    assert [path.name for path in tmp_path.iterdir()] == ["here"]


def test_l8_the_run_to_continue_is_named_as_it_was_given(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    own = nses.Task("wandering", Wandering, nses.make_task("CartPole-v1").behavior, 10)

    def fail(state, record):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError) as caught:
        train("here", own, algorithm="es", n=4, generations=2, backend="serial", listener=fail)
    assert caught.value.__notes__ == ["to continue: nses resume here"]
    assert Path.cwd() == tmp_path
