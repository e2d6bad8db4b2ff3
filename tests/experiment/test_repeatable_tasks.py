"""Environments whose episodes depend on more than their seed: mended if possible, else named."""

# ruff: noqa: NPY002  (the global generators are what this is about)

import json
import logging
import random
from pathlib import Path

import numpy as np
import pytest

import nses
from nses.cli import main

SMALL = {"recipe": "smoke", "tensorboard": False, "max_steps": 10, "generations": 2}


def train(directory: Path, task: str, **settings):
    return nses.train(task, run_dir=directory, **{**SMALL, "backend": "serial", **settings})


def warnings(caplog):
    return [r.getMessage() for r in caplog.records if r.levelno == logging.WARNING]


def test_m13_global_random_numbers_follow_from_the_seed_of_an_episode(tmp_path, caplog):
    alone = train(tmp_path / "serial", "forgetful:Rolls")
    two = train(tmp_path / "two", "forgetful:Rolls", backend="processes", workers=2)
    assert two.digest == alone.digest
    assert not warnings(caplog)


def test_m13_training_leaves_the_callers_random_numbers_alone(tmp_path):
    random.seed(3)
    np.random.seed(4)
    expected = [
        random.random(),
        np.random.normal(),
        random.random(),
        np.random.normal(size=4).tolist(),
    ]
    random.seed(3)
    np.random.seed(4)
    before = [random.random(), np.random.normal()]  # the second half of a pair is kept inside
    train(tmp_path / "run", "forgetful:Rolls")
    assert [*before, random.random(), np.random.normal(size=4).tolist()] == expected


def test_m13_episodes_that_depend_on_earlier_ones_are_named_at_the_start(tmp_path, caplog):
    train(tmp_path / "run", "forgetful:Remembers")
    (said,) = warnings(caplog)
    assert "episodes of forgetful:Remembers depend on what was played before" in said
    assert "number of workers" in said
    assert "step 1 after reset(seed=2)" in said


def test_m13_a_sound_environment_trains_without_a_word(tmp_path, caplog):
    train(tmp_path / "run", "troubled:Calm")
    assert not warnings(caplog)


def test_m13_another_source_of_the_environment_or_behavior_is_said_on_resume(
    tmp_path, monkeypatch, caplog
):
    import troubled

    source = Path(troubled.__file__).read_text()
    (tmp_path / "changing.py").write_text(source)
    (tmp_path / "looking_at.py").write_text("def where(observation, info):\n    return [1.0]\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    run = train(tmp_path / "run", "changing:Calm", behavior="looking_at:where")
    stored = json.loads((run.path / "config.json").read_text())["sources"]
    assert sorted(stored) == ["behavior", "environment"]

    nses.resume(run.path, generations=3)
    assert not warnings(caplog)
    (tmp_path / "changing.py").write_text(source + "\n# changed\n")
    nses.resume(run.path, generations=4)
    (said,) = warnings(caplog)
    assert "the code of the environment is not that with which the run was begun" in said


def test_m13_a_run_without_sources_is_loaded_and_resumed(tmp_path, caplog):
    run = train(tmp_path / "run", "troubled:Calm")
    document = json.loads((run.path / "config.json").read_text())
    del document["sources"]
    (run.path / "config.json").write_text(json.dumps(document))
    assert nses.resume(run.path, generations=3).finished
    assert not warnings(caplog)


@pytest.mark.parametrize(
    ("task", "code", "said"),
    [
        ("troubled:Calm", 0, "the same in any order"),
        ("forgetful:Remembers", 2, "step 1 after reset(seed=2)"),
        ("hostile:Vanishes", 2, "exit code 0"),
        ("point-trap", 0, "the same in any order"),
    ],
)
def test_m13_nses_check_says_whether_a_task_is_sound(capsys, task, code, said):
    steps = ["--max-steps", "10"] if ":" in task else []
    assert main(["check", task, *steps]) == code
    out, err = capsys.readouterr()
    assert said in " ".join((out + err).split())
