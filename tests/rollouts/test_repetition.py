"""Environments whose episodes depend on more than their seed: mended if possible, else named."""

# ruff: noqa: NPY002  (the global generators are what this is about)

import logging
import random
from pathlib import Path

import numpy as np

import nses

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
