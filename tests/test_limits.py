"""What users, their environments and their machines cannot do is said in a sentence (L5)."""

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from nses.cli import main
from nses.execution import pool
from waiting import SOON

SERIAL = ["--backend", "serial", "--no-pictures"]
SMOKE = ["--recipe", "smoke", "--seed", "1", "--run-dir", "run"]


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def train(capsys, task, *arguments):
    """Exit code and standard error."""
    code = main(["train", task, *SMOKE, *arguments])
    return code, capsys.readouterr().err


def train_within(limits, *arguments):
    """The same in a process with limits of its own; EFBIG needs one."""

    def restrict():
        for kind, most in limits.items():
            resource.setrlimit(kind, (most, most))

    done = subprocess.run(
        [sys.executable, "-m", "nses", "train", "point-trap", *SMOKE, *arguments],
        preexec_fn=restrict,
        capture_output=True,
        text=True,
        timeout=300,
    )
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    ("task", "message"),
    [
        ("Blind", "observations must have at least one number"),
        ("Idle", "actions must have at least one number"),
        ("Spaceless", "has no observation_space"),
        ("Empty", "has no action_space"),
    ],
)
def test_l5_an_environment_with_spaces_of_no_use_exits_with_2(capsys, task, message):
    code, err = train(capsys, f"troubled:{task}", "--max-steps", "5", *SERIAL)
    assert (code, "Traceback" in err) == (2, False)
    assert message in err


@pytest.mark.parametrize(
    ("backend", "workers", "times"),
    [("serial", 1, {1}), ("processes", 1, {1}), ("processes", 2, {0, 1})],  # 0: it never began
)
def test_l5_an_environment_that_fails_to_close_is_warned_of_once(
    capfd, caplog, monkeypatch, backend, workers, times
):
    monkeypatch.setattr(pool, "CLOSING", SOON)
    where = ["--backend", backend, "--workers", str(workers), "--no-pictures", "--no-tensorboard"]
    code = main(["train", "troubled:Clinging", "--max-steps", "5", *SMOKE, *where])
    assert code == 0
    said = capfd.readouterr().err + caplog.text  # by workers, and here
    assert said.count("failed to close") in times


def test_l5_a_file_in_the_place_of_tensorboard_is_warned_of(capsys, caplog):
    Path("run").mkdir()
    Path("run/tensorboard").touch()
    assert train(capsys, "point-trap", *SERIAL)[0] == 0
    assert "TensorBoard events are not written" in caplog.text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--n", str(1 << 40)], r"n=1099511627776"),
        (["--hidden", "20000", "20000"], "at most 67,108,864 parameters"),
        (["--hidden", str(10**30)], "at most 67,108,864 parameters"),
        (["--hidden", "8000", "8000", "--members", "10000"], "members=10000"),
        (["--evaluation-episodes", "1000000", "--n", str(1 << 38)], "GB"),
    ],
)
@pytest.mark.parametrize("command", ["train", "estimate"])
def test_l5_what_no_machine_holds_is_refused_before_anything_is_written(
    capsys, command, arguments, message
):
    code = main([command, "point-trap", *SMOKE, *arguments])
    err = capsys.readouterr().err
    assert (code, "Traceback" in err) == (2, False)
    assert message in err
    assert not Path("run").exists()


def test_l5_files_that_may_not_grow_are_a_full_disk():
    limits = {resource.RLIMIT_FSIZE: 2000}
    code, err = train_within(limits, *SERIAL)
    assert (code, "Traceback" in err) == (4, False)
    assert "File too large" in err


def test_l5_memory_that_counts_as_a_file_is_said_to_need_a_higher_limit():
    limits = {resource.RLIMIT_FSIZE: 1 << 20}
    code, err = train_within(limits, "--workers", "1")
    assert (code, "Traceback" in err) == (2, False)
    assert "ulimit -f" in err


def test_l5_too_few_files_for_the_workers_are_said_to_need_a_higher_limit():
    limits = {resource.RLIMIT_NOFILE: 16}
    code, err = train_within(limits, "--workers", "12", "--no-tensorboard", "--no-pictures")
    assert (code, "Traceback" in err) == (2, False)
    assert "ulimit -n" in err
    assert "--workers" in err
