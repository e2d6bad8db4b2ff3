"""Output is for people: where it cannot go, it falls silent, and the work goes on."""

import os
import pty
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import nses
from commands import IN_ONE_PROCESS

NSES = [sys.executable, "-P", "-m", "nses"]
SEVERAL = [sys.executable, "-P", "-c", IN_ONE_PROCESS]
TRAIN = ["train", "point-trap", "--recipe", "smoke", "--seed", "1", "--no-tensorboard"]
SERIAL = [*TRAIN, "--backend", "serial", "--no-pictures"]

CHATTY = """
import sys
import gymnasium
import numpy as np

class Env(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-1, 1, (2,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        print("x" * 1000, flush=True)
        print("y" * 1000, flush=True, file=sys.stderr)
        return np.zeros(2, np.float32), {}

    def step(self, action):
        return np.zeros(2, np.float32), float(action), False, False, {}
"""


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def shell(line, *words, program=NSES, **environment):
    """Exit code and standard error of a line of bash, in which "$@" is nses with these words."""
    argv = ["bash", "-c", line, "bash", *program, *words]
    done = subprocess.run(argv, capture_output=True, text=True, env=os.environ | environment)
    return done.returncode, done.stderr


GONE = [
    '"$@" > /dev/full',
    '"$@" >&-',
    '"$@" >&- 2>&-',
    '"$@" <&- >/dev/full 2>/dev/full',
    'set -o pipefail; "$@" | :',
]


@pytest.mark.parametrize("line", GONE)
def test_m3_training_goes_on_where_its_output_cannot_go(line):
    code, err = shell(line, *SERIAL, "--run-dir", "run")
    assert (code, err) == (0, "")
    assert nses.load("run").finished


def test_m3_an_environment_that_prints_does_not_fail_where_its_output_cannot_go():
    Path("chatty.py").write_text(CHATTY)
    words = [*TRAIN, "--workers", "1", "--no-pictures", "--max-steps", "3", "--run-dir", "run"]
    words[1] = "chatty:Env"
    assert shell('"$@" >/dev/full 2>/dev/full', *words)[0] == 0
    assert nses.load("run").finished


@pytest.fixture
def training():
    """A run of many generations on a terminal; its process, and what to close to hang up."""
    leader, follower = pty.openpty()
    words = [*SERIAL, "--generations", "400", "--run-dir", "run"]
    streams = {"stdin": follower, "stdout": follower, "stderr": follower}
    process = subprocess.Popen([*NSES, *words], **streams, start_new_session=True)
    os.close(follower)
    metrics, end = Path("run/metrics.jsonl"), time.monotonic() + 60
    try:
        while not metrics.exists() or not metrics.read_bytes():
            assert process.poll() is None
            assert time.monotonic() < end
            time.sleep(0.01)
        yield process, leader
    finally:
        process.kill()
        process.wait()


def test_m3_training_goes_on_when_its_terminal_vanishes(training):
    process, leader = training
    os.close(leader)  # not its controlling terminal: nothing but errors when it writes
    assert process.wait(60) == 0
    assert nses.load("run").finished


def test_m3_a_hangup_stops_at_a_checkpoint_as_sigterm_does(training):
    process, leader = training
    os.close(leader)
    process.send_signal(signal.SIGHUP)
    assert process.wait(60) == 128 + signal.SIGHUP
    assert 1 <= nses.load("run").state.generation < 400


@pytest.mark.parametrize("words", [["--help"], ["tasks", "--help"], [], ["--version"], ["nothing"]])
def test_l10_help_is_quiet_where_it_cannot_go(words):
    for line in ('"$@" >&- 2>&-', '"$@" >/dev/full 2>/dev/full', 'set -o pipefail; "$@" | :'):
        code, err = shell(line, *words)
        assert code == (2 if words == ["nothing"] else 0)
        assert "Traceback" not in err
        assert "Exception" not in err


def test_m3_a_command_whose_product_is_its_output_says_that_it_is_lost():
    nses.train("point-trap", recipe="smoke", backend="serial", tensorboard=False, run_dir="run")
    code, err = shell('"$@" > /dev/full', "info", "run", "--json")
    assert code == 4
    assert re.search("cannot write .*No space left", err)
    assert shell('"$@" | :', "info", "run", "--json") == (0, "")  # who left wants no more


ASCII = {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "LC_ALL": "C"}


@pytest.mark.parametrize("places", [{"PYTHONIOENCODING": "ascii"}, ASCII])
def test_m14_what_a_terminal_cannot_show_is_replaced(places):
    commands = [*SERIAL, "--run-dir", "run"], ["compare", "run"], ["tasks"]
    lines = map(shlex.join, commands)
    assert shell('"$@" > out', *lines, program=SEVERAL, **places) == (0, "")
    trained, compared, tasks = re.split(
        "^(?=page of|tasks)", Path("out").read_text("ascii"), flags=re.M
    )
    assert "? " in trained
    assert "nsra-es" in compared
    assert "point-trap" in tasks
