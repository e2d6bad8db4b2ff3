"""The end of a program: what it says, its exit code, and that it comes."""

import signal

import pytest

from commands import nses_command
from nses.errors import CheckpointRefused, Stopped, StorageFailed, UsageError
from nses.execution.leaving import outcome


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (UsageError("n must be even"), 2, "nses: n must be even"),
        (CheckpointRefused("torn"), 3, "nses: torn"),
        (StorageFailed("full"), 4, "nses: full"),
        (MemoryError("1 TB"), 2, "nses: out of memory: 1 TB. Lower --n, --hidden or --workers."),
        (KeyboardInterrupt(), 130, "nses: stopped by SIGINT"),
        (Stopped(signal.SIGTERM), 143, "nses: stopped by SIGTERM"),
        (ValueError("x"), 1, "nses: this is a bug in nses, please report it: ValueError('x')"),
    ],
)
def test_whatever_ends_an_action_has_an_exit_code_a_line_and_a_way_to_go_on(
    error, code, line, capsys
):
    def action():
        error.add_note("to continue: nses resume there")
        raise error

    assert outcome(action) == code
    *before, said, note = capsys.readouterr().err.splitlines()
    assert said.startswith(line)
    assert note == "nses: to continue: nses resume there"
    assert bool(before) == (code == 1)  # a traceback, of bugs only


def test_an_action_that_ends_well_says_nothing(capsys):
    assert outcome(lambda: 0) == 0
    assert capsys.readouterr().err == ""


def test_m5_a_thread_that_an_environment_left_does_not_keep_the_command_alive(tmp_path):
    words = ("--recipe", "smoke", "--max-steps", "10", "--no-tensorboard", "--no-pictures")
    done = nses_command(tmp_path, "train", "hostile:Lingers", *words, "--backend", "serial")
    assert done.returncode == 0, done.stdout + done.stderr
    assert list(tmp_path.rglob("best.safetensors"))
