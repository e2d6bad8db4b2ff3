"""Training on environments that would take the whole program with them."""

import os
import sys
import threading
from functools import partial
from types import ModuleType

import pytest

import nses
from commands import nses_command
from environments import Killed, drift
from hostile import Exits
from nses.errors import TaskBroken
from nses.execution.looking import limit_told, look
from nses.rollouts.behaviors import parse_behavior
from nses.rollouts.tasks.gymnasium import UNKNOWN
from troubled import Calm

SMALL = {"recipe": "smoke", "tensorboard": False, "max_steps": 10, "generations": 2}


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Exits", r"SystemExit"),
        ("Vanishes", r"exit code 0"),
        ("Crashes", r"SIGSEGV"),
        ("Hangs", r"did not answer within 1 s"),
    ],
)
def test_m5_an_environment_that_ends_or_hangs_its_process_at_once_is_a_broken_task(
    tmp_path, name, said
):
    with pytest.raises(TaskBroken, match=said):
        nses.train(
            f"hostile:{name}",
            run_dir=tmp_path / "run",
            backend="serial",
            deadline=1.0,
            **SMALL,
        )
    assert not (tmp_path / "run").exists()


def test_p1_a_look_whose_process_is_killed_is_taken_again(tmp_path):
    mark = tmp_path / "mark"
    task = drift().revised(make=partial(Killed, mark))
    assert look(task).facts.behavior_size == 2
    assert mark.exists()
    with pytest.raises(TaskBroken, match=r"ended its process while it was being made \(SIGKILL"):
        look(drift().revised(make=partial(Killed, tmp_path / "nowhere" / "mark")))


def test_m5_a_task_that_cannot_be_sent_is_looked_at_here(tmp_path):
    kept = threading.Lock()

    def make():
        with kept:
            return Exits()

    task = nses.Task("unsendable", make, parse_behavior("final-observation:0"), 10)
    with pytest.raises(ValueError, match="SystemExit"):
        nses.train(task, run_dir=tmp_path / "run", backend="serial", **SMALL)


def test_m5_a_module_that_exits_when_it_is_imported_cannot_be_loaded(tmp_path, monkeypatch):
    (tmp_path / "exiting_module.py").write_text("raise SystemExit(0)")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ValueError, match=r"cannot load task 'exiting_module:Calm'.*SystemExit"):
        nses.train("exiting_module:Calm", run_dir=tmp_path / "run", **SMALL)


def test_a_module_that_only_this_process_knows_is_named(monkeypatch):
    module = ModuleType("known_here_alone")
    exec("from troubled import Calm\nclass Mine(Calm): pass", vars(module))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    with pytest.raises(
        TaskBroken, match=r"must be able to import .*'known_here_alone'.*PYTHONPATH"
    ):
        look(nses.Task("mine", module.Mine, parse_behavior("final-observation"), 5))


def test_a_step_limit_is_asked_for_in_another_process():
    make = partial(limited_to_its_process, os.getpid())
    unlimited = nses.Task("own", make, parse_behavior("final-observation"), UNKNOWN)
    assert limit_told(unlimited) == 7


def limited_to_its_process(here):
    environment = Calm()
    environment.max_steps = 3 if os.getpid() == here else 7
    return environment


@pytest.mark.parametrize("name", ["Exits", "Vanishes"])
def test_m5_the_command_exits_with_2_where_an_environment_exits_with_0(tmp_path, name):
    done = nses_command(
        tmp_path, "train", f"hostile:{name}", "--recipe", "smoke", "--max-steps", "10"
    )
    assert done.returncode == 2, done.stdout + done.stderr
    assert f"hostile:{name}" in done.stderr
    assert not (tmp_path / "runs").exists()
