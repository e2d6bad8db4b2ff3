"""The public exceptions: one tree, an exit code each, and who is to blame."""

import ast
from pathlib import Path

import pytest

import nses
from nses import errors
from nses.cli import main
from nses.errors import NsesError, StorageFailed, UsageError

SOURCE = Path(nses.__file__).parent

# Where a ValueError can only be our own fault, is caught at once, or stands in compiled code.
OURS = {"core/noise.py", "experiment/runs/history.py", "experiment/runs/document.py"}
COMPILED = {"rollouts/native/network.py", "rollouts/native/recurrent.py"}


def _public():
    return [x for x in vars(errors).values() if isinstance(x, type)]


def test_every_public_exception_is_of_one_tree_and_knows_its_exit_code():
    tree = [x for x in _public() if issubclass(x, Exception)]
    assert all(issubclass(x, NsesError) for x in tree)
    codes = {x.__name__: x.exit_code for x in tree}
    assert codes["UsageError"] == codes["TaskBroken"] == 2
    assert codes["CheckpointRefused"] == 3
    assert codes["StorageFailed"] == 4
    assert codes["TooManyFailures"] == 5
    assert codes["NotFinite"] == 1


def test_a_signal_is_no_exception_that_a_user_catches_by_accident():
    assert not issubclass(errors.Stopped, Exception)
    assert errors.Stopped(2).exit_code == 130


@pytest.mark.parametrize(
    ("name", "old"),
    [
        ("UsageError", ValueError),
        ("TaskBroken", ValueError),
        ("StorageFailed", OSError),
        ("TooManyFailures", RuntimeError),
        ("NotFinite", ArithmeticError),
    ],
)
def test_python_users_may_go_on_catching_the_builtin_exception(name, old):
    with pytest.raises(old, match="what went wrong"):
        raise getattr(errors, name)("what went wrong")


def test_the_tree_is_an_attribute_of_the_package():
    assert nses.errors.UsageError is UsageError
    with pytest.raises(UsageError, match="at least 1"):
        nses.novelty([0.0], [[1.0]], 0)


def test_no_user_gets_a_plain_value_error_from_us():
    """Found in the sources, so that no new one slips in."""
    found = {
        str(file.relative_to(SOURCE))
        for file in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "ValueError"
    }
    assert found <= OURS | COMPILED


@pytest.mark.parametrize("error", [x for x in _public() if x.__init__ is NsesError.__init__])
def test_the_command_ends_with_the_code_of_the_exception_in_one_line(error, monkeypatch, capsys):
    def command(_):
        raise error("what went wrong, and what to do")

    monkeypatch.setattr("nses.cli._command", lambda name: command)
    assert main(["doctor"]) == error.exit_code
    assert capsys.readouterr().err == "nses: what went wrong, and what to do\n"


def test_any_other_value_error_is_a_bug_and_shows_its_traceback(monkeypatch, capsys):
    def command(_):
        raise ValueError("not what anybody expected")

    monkeypatch.setattr("nses.cli._command", lambda name: command)
    assert main(["doctor"]) == 1
    said = capsys.readouterr().err
    assert "Traceback" in said
    assert "this is a bug in nses" in said


def test_a_failed_disk_is_still_an_error_of_the_system():
    assert isinstance(StorageFailed("full"), OSError)
