"""Which code the command line imports: its own and what a user names, not what lies about."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from nses.experiment.fleet import CHILD

SMOKE = ["--recipe", "smoke", "--seed", "1", "--generations", "1", "--no-tensorboard"]
HOSTILE = ("scipy", "numpy", "json", "rich", "typing", "yaml", "tyro", "matplotlib", "ctypes")
MODULE = [sys.executable, "-m", "nses"]
SCRIPT = [sys.executable, "-P", "-c", "import sys; sys.argv[0] = 'nses'; from nses.cli import main"]
SCRIPT[-1] += "; sys.exit(main())"  # as the installed command, which may be that of another clone

MINE = """
import gymnasium
import numpy as np

class Env(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-1, 1, (2,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        import helper_of_mine  # what is imported late is found too
        return np.full(2, helper_of_mine.START, np.float32), {}

    def step(self, action):
        return np.zeros(2, np.float32), float(action), False, False, {}
"""


@pytest.fixture(scope="module")
def run_dir(tmp_path_factory):
    """A finished run in which somebody left modules."""
    path = tmp_path_factory.mktemp("hostile")
    argv = [*SCRIPT, "train", "point-trap", *SMOKE, "--backend", "serial", "--no-pictures"]
    subprocess.run([*argv, "--run-dir", str(path)], check=True, capture_output=True)
    for name in HOSTILE:
        code = (
            f"open({str(path / 'executed')!r}, 'a').write({name!r} + ' ')\nraise SystemExit(99)\n"
        )
        (path / f"{name}.py").write_text(code)
    return path


@pytest.mark.parametrize(
    "argv",
    [
        [*SCRIPT, "info", "."],
        [*MODULE, "info", "."],
        [sys.executable, "-mnses", "info", "."],
        [*SCRIPT, "compare", "."],
    ],
)
def test_h1_code_in_a_run_directory_is_not_imported(run_dir, argv):
    done = subprocess.run(argv, cwd=run_dir, capture_output=True, text=True)
    executed = run_dir / "executed"
    assert not executed.exists(), executed.read_text()
    assert done.returncode == 0, done.stderr


def test_h1_a_run_of_a_fleet_does_not_import_what_lies_about(run_dir):
    told = json.dumps({"path": sys.path, "command": ["nses"], "config": {}})
    argv = [sys.executable, "-P", str(CHILD), "0"]
    done = subprocess.run(argv, cwd=run_dir, capture_output=True, input=told, text=True)
    assert not (run_dir / "executed").exists()
    assert (done.returncode, done.stderr) == (0, "")  # the parent is another


@pytest.mark.parametrize("start", [SCRIPT, MODULE])
def test_h1_a_module_of_the_working_directory_is_found_by_name_in_two_workers(tmp_path, start):
    (tmp_path / "mine_of_h1.py").write_text(MINE)
    (tmp_path / "helper_of_mine.py").write_text("START = 0.5\n")
    (tmp_path / "scipy.py").write_text("raise SystemExit('not named by anybody')\n")
    argv = [*start, "train", "mine_of_h1:Env", *SMOKE, "--max-steps", "5", "--workers", "2"]
    done = subprocess.run(
        [*argv, "--no-pictures", "--run-dir", "run"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert Path(tmp_path, "run", "best.safetensors").exists()


def test_h1_a_module_that_is_installed_goes_before_one_of_the_working_directory(
    tmp_path, monkeypatch
):
    from nses.rollouts.behaviors import load_attribute

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    (tmp_path / "tomllib.py").write_text("loads = 'not this'\n")
    (tmp_path / "found_last.py").write_text("here = 1\n")
    monkeypatch.delitem(sys.modules, "tomllib", raising=False)
    assert callable(load_attribute("tomllib:loads", "task"))
    assert str(tmp_path) not in sys.path
    with pytest.raises(ValueError, match="nowhere_at_all"):
        load_attribute("nowhere_at_all:x", "task")
    assert str(tmp_path) not in sys.path
    assert load_attribute("found_last:here", "task") == 1
    assert sys.path[-1] == str(tmp_path)  # for what it imports later, here and in the workers
