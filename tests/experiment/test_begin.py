"""Beginning a run, or going on with one: what is continued, and what is refused."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import nses
from nses.core.values import State
from nses.execution.evaluator import TaskBroken
from nses.experiment.runs import checkpoint
from nses.experiment.runs.storage import CheckpointRefused
from troubled import Calm, Wider

SMALL = {"recipe": "smoke", "backend": "serial", "tensorboard": False}


def train(directory, task="point-trap", **settings):
    return nses.train(task, run_dir=directory, **({"seed": 1, **SMALL} | settings))


def test_a_longer_run_is_the_same_as_a_shorter_one_that_was_extended(tmp_path):
    whole = train(tmp_path / "whole", generations=8)
    train(tmp_path / "parts", generations=3)
    extended = nses.resume(tmp_path / "parts", generations=8)
    assert extended.digest == whole.digest
    assert extended.retest == whole.retest


def test_training_again_into_the_same_directory_continues_what_is_there(tmp_path):
    first = train(tmp_path / "run")
    stamp = (first.path / "checkpoints" / "000005" / "manifest.json").stat().st_mtime_ns
    again = train(tmp_path / "run")
    assert again.digest == first.digest
    assert (again.path / "checkpoints" / "000005" / "manifest.json").stat().st_mtime_ns == stamp


def test_a_run_with_more_generations_than_asked_for_is_not_passed_off_as_a_shorter_one(tmp_path):
    run = train(tmp_path / "run")
    with pytest.raises(ValueError, match="already has 5 generations, more than the 3"):
        nses.resume(run.path, generations=3)
    assert nses.load(run.path).config.generations == 5


def test_a_finished_run_is_not_trained_again(tmp_path):
    run, heard = train(tmp_path / "run", tensorboard=True), []
    before = sorted(run.path.rglob("*"))
    train(tmp_path / "run", tensorboard=True, listener=lambda state, record: heard.append(record))
    assert not heard
    assert sorted(run.path.rglob("*")) == before


def test_s8_other_settings_are_refused_field_by_field(tmp_path):
    train(tmp_path / "run")
    with pytest.raises(CheckpointRefused) as error:
        train(tmp_path / "run", sigma=0.5, members=3)
    assert "sigma: 0.5 given, 0.02 stored" in str(error.value)
    assert "members: 3 given, 2 stored" in str(error.value)


def test_s8_a_checkpoint_of_another_run_is_refused(tmp_path):
    train(tmp_path / "a")
    train(tmp_path / "b", hidden=(8,))
    shutil.rmtree(tmp_path / "a" / "checkpoints")
    shutil.copytree(tmp_path / "b" / "checkpoints", tmp_path / "a" / "checkpoints")
    with pytest.raises(CheckpointRefused, match="hidden"):
        nses.resume(tmp_path / "a", generations=9)


def test_s8_workers_backend_and_logging_may_differ(tmp_path):
    whole = train(tmp_path / "whole")
    train(tmp_path / "run", generations=2)
    resumed = nses.resume(
        tmp_path / "run", generations=5, backend="processes", workers=2, tensorboard=True
    )
    assert resumed.digest == whole.digest


def test_s4_resuming_from_an_older_checkpoint_gives_the_same_digest_and_says_so(tmp_path, caplog):
    whole = train(tmp_path / "whole", generations=6, keep_every=2)
    run = train(tmp_path / "run", generations=6, keep_every=2)
    newest = run.path / "checkpoints" / "000006" / "state.safetensors"
    newest.write_bytes(newest.read_bytes()[:-10])
    resumed = nses.resume(run.path)
    assert "000006" in caplog.text
    assert resumed.digest == whole.digest


def test_s8_an_environment_of_another_shape_is_refused_and_nothing_is_overwritten(tmp_path):
    task = nses.Task("calm", Calm, nses.make_task("CartPole-v1").behavior, 10)
    run = train(tmp_path / "run", task=task, generations=2)
    before = (run.path / "config.json").read_bytes()
    with pytest.raises(CheckpointRefused, match="observation space"):
        nses.resume(run.path, task=replace(task, make=Wider), generations=3)
    assert (run.path / "config.json").read_bytes() == before


def test_s8_a_setting_that_was_edited_in_is_found_in_the_checkpoint(tmp_path):
    run = train(tmp_path / "run", generations=2)
    file = run.path / "config.json"
    document = json.loads(file.read_text())
    document["config"]["behavior"] = "mean:x,y"
    file.write_text(json.dumps(document))
    with pytest.raises(CheckpointRefused, match="behavior: 'mean:x,y' given, None stored"):
        nses.resume(run.path, generations=3)


def test_the_best_policy_of_an_extended_run_that_was_stopped_is_the_newest(tmp_path):
    train(tmp_path / "run", generations=1)

    def stop(state: State, record: dict) -> None:
        if state.best.generation > 1:
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough") as error:
        nses.resume(tmp_path / "run", generations=200, listener=stop)
    assert "nses resume" in error.value.__notes__[0]
    run = nses.load(tmp_path / "run")
    assert run.best.generation == run.state.best.generation > 1  # nor was a generation lost
    assert run.retest == []
    assert not run.finished


def test_a_first_try_that_failed_does_not_stand_in_the_way_of_the_next(tmp_path):
    with pytest.raises(TaskBroken):
        train(tmp_path / "run", task="troubled:Unpaid", max_steps=10)
    assert train(tmp_path / "run", task="troubled:Calm", max_steps=10).finished


def test_a_run_on_a_task_object_asks_for_it_when_it_is_resumed_by_name(tmp_path):
    task = nses.Task("calm", Calm, nses.make_task("CartPole-v1").behavior, 10)
    run = train(tmp_path / "run", task=task, generations=2)
    with pytest.raises(ValueError, match="has to be passed again"):
        nses.resume(run.path, generations=3)
    loaded = nses.load(run.path)
    with pytest.raises(ValueError, match="has to be passed again"):
        nses.evaluate(loaded)
    given = nses.evaluate(loaded, episodes=3, task=task).returns
    assert nses.evaluate(run, episodes=3).returns.tolist() == given.tolist()  # it keeps its own


def test_a_moved_run_goes_on_where_it_lies(tmp_path):
    train(tmp_path / "here", generations=2)
    shutil.move(tmp_path / "here", tmp_path / "there")
    assert nses.resume(tmp_path / "there", generations=3).path == tmp_path / "there"
    assert not (tmp_path / "here").exists()


def test_other_versions_are_said_on_resume_and_added_to_those_of_the_beginning(tmp_path, caplog):
    run = train(tmp_path / "run", generations=2)
    file = run.path / "config.json"
    document = json.loads(file.read_text())
    document["versions"]["numpy"] = "1.0.0"
    file.write_text(json.dumps(document))
    nses.resume(run.path, generations=3)
    assert "began with numpy 1.0.0" in caplog.text
    after = json.loads(file.read_text())
    assert after["versions"]["numpy"] == "1.0.0"
    assert after["resumed"][0]["generation"] == 2
    assert after["resumed"][0]["versions"]["numpy"] == np.__version__


def test_s7_a_run_that_ended_before_its_generation_was_written_with_the_test_is_finished(tmp_path):
    run = train(tmp_path / "r", generations=2)
    best, extra = checkpoint.load_best(run.path / "best.safetensors")
    assert extra.pop("generation") == "2"
    checkpoint.save_best(run.path / "best.safetensors", best, extra)
    assert nses.load(run.path).finished
    assert nses.load(run.path).ending.generation == 2


LEFT = ("metrics.jsonl", "history.jsonl", "best.safetensors", "archive.safetensors")


@pytest.mark.parametrize("checkpoints", ["gone", "empty"])
@pytest.mark.parametrize(
    "again",
    [
        lambda path: nses.resume(path, generations=3),
        lambda path: train(path, generations=2),
        lambda path: train(path, generations=2, algorithm="es"),
    ],
    ids=["resumed", "trained", "trained by another algorithm"],
)
def test_h3_a_run_whose_checkpoints_were_deleted_is_refused_and_stays_as_it_is(
    tmp_path, checkpoints, again
):
    run = train(tmp_path / "run", generations=2)
    shutil.rmtree(run.path / "checkpoints")
    if checkpoints == "empty":
        (run.path / "checkpoints").mkdir()
    before = contents(run.path)
    with pytest.raises(CheckpointRefused, match=r"no checkpoint(.|\n)*another --run-dir"):
        again(run.path)
    assert contents(run.path) == before


def contents(directory):
    return {p: p.read_bytes() for p in directory.rglob("*") if p.is_file() and p.name != ".lock"}


@pytest.mark.parametrize("left", LEFT)
def test_h3_each_file_of_value_alone_is_reason_enough_to_refuse(tmp_path, left):
    run = train(tmp_path / "run", generations=1)
    (tmp_path / "other").mkdir()
    shutil.copy(run.path / left, tmp_path / "other")
    with pytest.raises(CheckpointRefused, match=left):
        train(tmp_path / "other", generations=1)
    assert contents(tmp_path / "other").keys() == {tmp_path / "other" / left}


@pytest.mark.parametrize("name", ["history.jsonl", "metrics.jsonl", "reference.safetensors"])
def test_h3_a_resume_that_is_refused_for_one_file_has_not_changed_the_others(tmp_path, name):
    run = train(tmp_path / "run", generations=2)
    (run.path / name).unlink(missing_ok=True)
    (run.path / name).mkdir()
    files = [path for path in run.path.rglob("*") if path.is_file() and path.name != ".lock"]
    before = {path: path.read_bytes() for path in files}
    with pytest.raises(CheckpointRefused, match=name):
        nses.resume(run.path, generations=3)
    assert {path: path.read_bytes() for path in files} == before


def test_h3_a_resume_that_is_refused_for_a_terabyte_of_metrics_has_not_changed_anything(tmp_path):
    run = train(tmp_path / "run", generations=2)
    os.truncate(run.path / "metrics.jsonl", 1 << 40)
    before = (run.path / "config.json").read_bytes()
    with pytest.raises(CheckpointRefused, match=r"metrics\.jsonl"):
        nses.resume(run.path, generations=3)
    assert (run.path / "config.json").read_bytes() == before


def test_h3_a_configuration_alone_is_begun_by_the_same_settings_and_refused_to_others(tmp_path):
    run = train(tmp_path / "run", generations=1)
    for path in run.path.iterdir():
        if path.name in ("checkpoints", *LEFT):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    (run.path / "checkpoints").mkdir()
    (run.path / "metrics.jsonl").touch()  # made, and nothing in it
    before = (run.path / "config.json").read_bytes()
    with pytest.raises(CheckpointRefused, match="algorithm: 'es' given, 'nsra-es' stored"):
        train(run.path, generations=1, algorithm="es")
    assert (run.path / "config.json").read_bytes() == before
    assert nses.resume(run.path).finished
    assert train(run.path, generations=1).digest == train(tmp_path / "b", generations=1).digest


KILLED_AT_FIRST = """
import os, sys
import nses
from nses.experiment.runs import checkpoint
checkpoint.save = lambda *_, **__: os.kill(os.getpid(), 9)
nses.train("point-trap", recipe="smoke", seed=1, backend="serial", run_dir=sys.argv[1],
           tensorboard=False)
"""


def test_h3_a_run_that_was_killed_before_its_first_checkpoint_begins_again(tmp_path):
    argv = [sys.executable, "-c", KILLED_AT_FIRST, str(tmp_path / "run")]
    assert subprocess.run(argv, capture_output=True).returncode == -9
    assert (tmp_path / "run" / "config.json").exists()
    assert train(tmp_path / "run").digest == train(tmp_path / "other").digest
