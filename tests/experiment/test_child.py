"""A run of a fleet in a process of its own, which knows its settings from a file."""

import json
import os
import subprocess
import sys
from contextlib import closing

import pytest

from nses.execution.sharing import Board
from nses.experiment.fleet import CHILD
from nses.experiment.runs.run import load
from nses.experiment.settings.config import changed, to_dict
from nses.experiment.settings.recipes import recipe

COMMAND = ["nses", "train", "point-trap", "--run-dir", "a place"]


def outcome(settings, parent=None):
    """Exit code and standard error of a child that is told these settings."""
    told = {"path": sys.path, "command": COMMAND, "config": settings, "cluster": None}
    with closing(Board()) as board:
        done = subprocess.run(
            [sys.executable, "-P", str(CHILD), str(parent or os.getpid())],
            input=json.dumps({**told, "board": board.descriptor}),
            capture_output=True,
            text=True,
            pass_fds=[board.descriptor],
        )
    return done.returncode, done.stderr


def smoke(tmp_path, **changes):
    place = {"run_dir": str(tmp_path / "run"), "backend": "serial", "generations": 1}
    return changed(recipe("point-trap", "smoke", "es"), {**place, **changes})


def test_a_child_trains_with_the_very_settings_and_records_the_command_of_a_person(tmp_path):
    config = smoke(tmp_path, n=4, hidden=(3,), deadline=5.0, tensorboard=False, pictures=False)
    assert outcome(to_dict(config)) == (0, "")
    run = load(tmp_path / "run")
    assert run.finished
    assert to_dict(run.config) == {**to_dict(config), "distance": "squared-euclidean"}
    assert run.command == "nses train point-trap --run-dir 'a place'"


@pytest.mark.parametrize(
    ("settings", "code", "sentence"),
    [
        ({"n": 3}, 2, "n must be even"),
        ({"task": "point-trop"}, 2, "Did you mean point-trap"),
        ({"run_dir": "/dev/null/x"}, 4, "cannot write to the run directory"),
    ],
)
def test_a_child_that_fails_exits_as_the_command_does(settings, code, sentence, tmp_path):
    told = {**to_dict(smoke(tmp_path)), **settings}
    there, errors = outcome(told)
    assert there == code
    assert errors.startswith("nses: ")
    assert sentence in errors


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a process of that")
def test_a_child_whose_parent_has_gone_trains_nothing(tmp_path):
    outcome(to_dict(smoke(tmp_path)), parent=1)
    assert not (tmp_path / "run").exists()
