"""Training from the command line: what it says, and how it exits."""

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

import troubled
from commands import SMOKE, call

pytestmark = pytest.mark.usefixtures("own_folder")


def test_help_for_a_task_shows_the_values_of_its_recipe(capsys):
    text = call(capsys, "train", "point-trap", "--recipe", "laptop", "--help")[1]
    assert "TASK" in text
    shown = re.sub(r"[│\s]+", " ", text)
    assert "in all. (default: 500)" in shown
    assert "{None}" not in shown


def test_train_says_where_everything_is_and_what_comes_next(capsys):
    code, out, _ = call(capsys, "train", "point-trap", *SMOKE)
    assert code == 0
    assert "runs/point-trap/nsra-es/seed-1" in out
    assert "nses evaluate runs/point-trap/nsra-es/seed-1" in out
    assert "fresh episodes" in re.sub(r"\s+", " ", out)
    assert re.search(r"generation 5/5 .*best .*mean .*w .*novelty .*steps/s.*left", out)


def test_train_needs_a_task(capsys):
    code, _, err = call(capsys, "train")
    assert code == 2
    assert "nses tasks" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--n", "7", "--sigma", "-1"], r"n must be even.*try n=8(.|\n)*sigma must be greater"),
        (["--seed", "x"], "seed"),
        (["--algorithm", "es", "--members", "3"], "members must be 1, got 3.*use one of ns-es"),
        (["--sgima", "0.1"], "sigma"),
        (["--behavior", "final:z"], "info has no key 'z'.*its keys are: x, y"),
        (["--behavior", "where"], "behavior must be"),
        (["--environment", "half_width=0.1"], "half_width must lie between"),
        (["--environment", "nonsense=1"], "nonsense"),
    ],
)
def test_e22_wrong_settings_exit_with_2_and_say_what_to_do(capsys, arguments, message):
    code, out, err = call(capsys, "train", "point-trap", *arguments)
    assert code == 2
    assert re.search(message, out + err)
    assert not Path("runs").exists() or not list(Path("runs").rglob("metrics.jsonl"))


def test_a_module_of_the_current_directory_is_found(tmp_path):
    (tmp_path / "mine.py").write_text("from troubled import Calm as Mine\n")
    (tmp_path / "troubled.py").write_text(Path(troubled.__file__).read_text())
    nses_command = Path(sys.executable).parent / "nses"
    argv = [nses_command, "train", "mine:Mine", "--max-steps", "5", *SMOKE[:2], "--workers", "1"]
    done = subprocess.run(argv, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("task", "message"),
    [
        ("CartPole-v9", r"CartPole-v1"),
        ("point-trp", r"point-trap"),
        ("troubled:Nothing", "cannot load task"),
        ("no_such_module:Env", "cannot load task"),
        ("../x", "a task must be"),
        ("/etc/passwd", "a task must be"),
        ("a\0b", "a task must be"),
        ("x" * 300, "at most 200 letters"),
        ("troubled:Endless", "--max-steps"),
    ],
)
def test_e7_e18_s11_an_unknown_task_exits_with_2_and_a_hint(capsys, task, message):
    code, _, err = call(capsys, "train", task, "--recipe", "smoke")
    assert code == 2
    assert re.search(message, err)


def test_e6_an_unsupported_space_is_named(capsys):
    code, _, err = call(capsys, "train", "troubled:Strange", "--max-steps", "5")
    assert code == 2
    assert "Text(" in err


def test_e3_an_environment_that_raises_exits_with_2_and_its_traceback(capsys):
    code, _, err = call(capsys, "train", "troubled:Raising", "--max-steps", "5", *SMOKE)
    assert code == 2
    assert "the motor is on fire" in err


def test_e1_too_many_failures_exit_with_5_and_the_command_that_resumes(capsys):
    arguments = ["--max-steps", "10", "--n", "40", "--generations", "50", "--run-dir", "r"]
    code, _, err = call(capsys, "train", "troubled:SometimesUnpaid", *SMOKE, *arguments)
    assert code == 5
    assert "nses resume r" in err


def test_e2_an_update_that_is_not_finite_exits_with_1(capsys):
    bad = ["--lr", "1e38", "--optimizer", "sgd", "--sigma", "0.001", "--generations", "50"]
    code, _, err = call(capsys, "train", "point-trap", *SMOKE, *bad)
    assert code == 1
    assert "last good checkpoint" in err


def test_s3_a_directory_that_cannot_be_written_exits_with_4(capsys):
    Path("file").write_text("")
    code, _, err = call(capsys, "train", "point-trap", *SMOKE, "--run-dir", "file/run")
    assert code == 4
    assert "cannot write" in err


def test_s8_another_run_in_the_directory_exits_with_3_and_the_differences(capsys, run_dir):
    code, _, err = call(capsys, "train", "point-trap", *SMOKE, "--sigma", "0.5")
    assert code == 3
    assert "sigma: 0.5 given, 0.02 stored" in err


def test_s12_a_second_run_in_one_directory_exits_with_2_naming_the_first(capsys, run_dir):
    holder = (
        "import sys, time; from pathlib import Path; from nses.experiment.runs.storage import *\n"
        f"with DirectoryLock(Path({run_dir!r})): print('held', flush=True); time.sleep(60)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", holder], stdout=subprocess.PIPE, text=True
    ) as held:
        assert held.stdout is not None
        held.stdout.readline()
        code, _, err = call(capsys, "resume", run_dir, "--generations", "6")
        held.kill()
    assert code == 2
    assert str(held.pid) in err


def test_train_ends_with_pictures_and_a_page_unless_told_not_to(capsys, run_dir):
    names = ("curve.png", "curve.pdf", "overhead.png", "report.html")
    assert not any((Path(run_dir) / name).exists() for name in names)
    call(capsys, "train", "point-trap", *SMOKE, "--pictures", "--run-dir", "shown")
    assert all((Path("shown") / name).exists() for name in names)


@pytest.mark.slow
def test_a_terminal_shows_a_progress_bar():
    leader, follower = pty.openpty()
    argv = [sys.executable, "-m", "nses", "train", "point-trap", *SMOKE, "--generations", "40"]
    environment = os.environ | {"TERM": "xterm-256color", "COLUMNS": "150"}
    with subprocess.Popen(argv, stdout=follower, stderr=follower, env=environment) as process:
        os.close(follower)
        shown = b""
        while True:
            try:
                shown += os.read(leader, 4096)
            except OSError:
                break
        assert process.wait() == 0
    os.close(leader)
    text = shown.decode()
    assert "━" in text
    assert "40/40" in text
    assert "steps/s" in text
    assert "nses evaluate" in text
