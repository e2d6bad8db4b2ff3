"""The command line as a person meets it: exit codes, messages, help, progress."""

import resource
import subprocess
import sys
from pathlib import Path

import pytest

import nses
from commands import SMOKE, call
from nses.cli import COMMANDS

pytestmark = pytest.mark.usefixtures("own_folder")


def test_a_bare_nses_and_help_explain_all_commands(capsys):
    bare, helped = call(capsys), call(capsys, "--help")
    assert bare == helped
    assert bare[0] == 0
    for command in COMMANDS:
        assert f"nses {command}" in bare[1]


def test_every_command_is_a_file_of_its_name_and_nothing_else_is():
    files = {path.stem for path in Path(nses.__file__).with_name("cli").glob("*.py")}
    assert files == {*COMMANDS, "__init__", "arguments"}


def test_help_answers_at_once_without_loading_the_simulators():
    argv = [sys.executable, "-X", "importtime", "-m", "nses", "--help"]
    imported = subprocess.run(argv, capture_output=True, text=True, check=True).stderr
    for heavy in ("numpy", "numba", "gymnasium", "rich", "tyro"):
        assert f"| {heavy}\n" not in imported.replace(" ", "").replace("|", "| ")
    best = min(_cpu_seconds([sys.executable, "-m", "nses", "--help"]) for _ in range(3))
    assert best < 0.5


def _cpu_seconds(argv):
    """Processor time, which other programs do not take away."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(argv, capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@pytest.mark.parametrize("command", list(COMMANDS))
def test_every_command_has_help(capsys, command):
    code, out, _ = call(capsys, command, "--help")
    assert code == 0
    assert f"usage: nses {command}" in out


def test_an_unknown_command_names_the_closest(capsys):
    code, _, err = call(capsys, "trian")
    assert code == 2
    assert "Did you mean 'train'?" in err


def test_a_bug_is_called_one_with_its_traceback_and_how_to_go_on(capsys, monkeypatch):
    def broken(*_):
        raise LookupError("lost")

    monkeypatch.setattr("nses.core.algorithms.objective", broken)
    code, _, err = call(capsys, "train", "point-trap", *SMOKE)
    assert code == 1
    assert "Traceback" in err
    assert "this is a bug in nses" in err
    assert "nses resume runs/point-trap/nsra-es/seed-1" in err


def test_output_that_is_not_wanted_any_more_ends_the_command_quietly():
    argv = f"{sys.executable} -m nses tasks | head -c 1"
    done = subprocess.run(["sh", "-c", argv], capture_output=True, text=True)
    assert "Traceback" not in done.stderr
