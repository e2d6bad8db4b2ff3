"""What a cluster of our own leaves behind is taken away, however the run ends."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil

from nses.execution import janitor
from nses.execution.surroundings import own_folder
from waiting import SOON, gone, wait_until

WAIT = "import sys; sys.stdin.read()"
HOLD = """
import os, subprocess, sys
from nses.execution.surroundings import own_folder
with own_folder() as folder:
    os.mkdir(folder)
    log, wait = open(folder + "/log", "w"), [sys.executable, "-c", "import time; time.sleep(600)"]
    started = [subprocess.Popen([*wait, folder]), subprocess.Popen(wait, stderr=log)]
    print(folder, *(process.pid for process in started), flush=True)
    sys.stdin.read()
"""


def test_p3_the_folder_of_a_killed_run_goes_and_with_it_who_uses_it(launch: Any):
    pipe = subprocess.PIPE
    run = launch([sys.executable, "-c", HOLD], stdin=pipe, stdout=pipe)
    folder, *pids = run.stdout.readline().split()
    started = [psutil.Process(int(pid)) for pid in pids]
    os.kill(run.pid, signal.SIGKILL)
    wait_until(lambda: not Path(folder).parent.exists())
    assert gone(started)


def test_a_run_that_goes_on_without_its_cluster_is_spared():
    with own_folder() as folder:
        os.mkdir(folder)
        log = open(f"{folder}/log", "w")  # noqa: SIM115  (as Ray leaves it)
    assert not Path(folder).exists()
    log.close()


def test_it_waits_for_the_end_of_the_run_whatever_signals_come(launch: Any, tmp_path: Path):
    folder, other = tmp_path / "folder", tmp_path / "other"
    folder.mkdir()
    bystander = launch([sys.executable, "-c", WAIT, str(other)], stdin=subprocess.PIPE)
    words = [sys.executable, "-I", "-S", janitor.__file__, str(folder)]
    program = launch(words, stdin=subprocess.PIPE)
    ignored = 1 << (signal.SIGTERM - 1)
    wait_until(lambda: bool(ignored & ignored_by(program.pid)))
    os.killpg(program.pid, signal.SIGTERM)
    os.killpg(program.pid, signal.SIGINT)
    assert folder.exists()
    assert program.poll() is None
    program.stdin.close()
    assert program.wait(SOON) == 0
    assert not folder.exists()
    assert bystander.poll() is None


def ignored_by(pid: int) -> int:
    """The mask of signals that a process ignores."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(
        next(line for line in status.splitlines() if line.startswith("SigIgn")).split()[1], 16
    )
