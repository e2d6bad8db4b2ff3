"""Whatever happens to a run on the way, its digest is that of an undisturbed one."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

import nses
from nses.experiment.interruption import Interruption
from waiting import SOON, gone, wait_until

GENERATIONS = 60
TRAIN = (
    *(
        "train",
        "point-trap",
        "--no-pictures",
        "--algorithm",
        "nsra-es",
        "--seed",
        "1",
        "--n",
        "200",
    ),
    *("--generations", str(GENERATIONS), "--no-tensorboard"),
)

pytestmark = pytest.mark.slow


NSES = (sys.executable, "-m", "nses")

Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def start(launch: Start) -> Start:
    """The command line in a session of its own, as a shell starts it."""

    def begin(*arguments: str, **settings: object) -> subprocess.Popen[str]:
        streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
        return launch([*NSES, *arguments], **streams, **settings)

    return begin


def finish(*arguments: str) -> str:
    """The command's standard error; it must succeed."""
    done = subprocess.run(
        [*NSES, *arguments], capture_output=True, text=True, timeout=4 * SOON, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stderr


def generations(directory: Path) -> int:
    """How many are done."""
    try:
        return (directory / "metrics.jsonl").read_text().count("\n")
    except FileNotFoundError:
        return -1


def workers_of(process: subprocess.Popen[str]) -> list[psutil.Process]:
    children = psutil.Process(process.pid).children()
    return [child for child in children if any("worker.py" in part for part in child.cmdline())]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The digest of a serial run."""
    directory = tmp_path_factory.mktemp("serial") / "run"
    assert finish(*TRAIN, "--run-dir", str(directory), "--backend", "serial") == ""
    run = nses.load(directory)
    assert run.state.generation == GENERATIONS
    return run.digest


@pytest.mark.parametrize("workers", [1, 3])  # others have two
def test_the_digest_is_the_same_for_any_number_of_workers(
    tmp_path: Path, workers: int, undisturbed: str
):
    settings = {"n": 200, "generations": GENERATIONS, "tensorboard": False, "pictures": False}
    run = nses.train("point-trap", seed=1, run_dir=tmp_path / "run", workers=workers, **settings)
    assert run.digest == undisturbed


def test_p3_p5_killed_again_and_again_a_run_ends_with_the_digest_of_an_undisturbed_one(
    tmp_path: Path, undisturbed: str, start: Start
):
    directory, chance = tmp_path / "run", random.Random(1)
    command = (*TRAIN, "--run-dir", str(directory), "--checkpoint-seconds", "0.1")
    for done, group in ((-1, False), (0, False), (8, True), (24, False)):
        process = start(*command, "--workers", "2")
        wait_until((directory / "config.json").exists, process)
        wait_until(lambda done=done: generations(directory) >= done, process)
        time.sleep(chance.uniform(0.0, 0.2))
        children = psutil.Process(process.pid).children(recursive=True)
        if group:
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
        assert gone(children)
        process.communicate()
        command = ("resume", str(directory))
    finish(*command)
    run = nses.load(directory)
    assert run.digest == undisturbed
    assert [record["generation"] for record in run.metrics] == list(range(1, GENERATIONS + 1))


@pytest.mark.parametrize(
    ("signum", "code"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143)],
    ids=["p7-SIGINT", "p8-SIGTERM"],
)
def test_p7_p8_a_run_that_is_asked_to_stop_writes_a_checkpoint_and_can_be_resumed(
    tmp_path: Path, signum: signal.Signals, code: int, undisturbed: str, start: Start
):
    directory = tmp_path / "run"
    process = start(*TRAIN, "--run-dir", str(directory), "--workers", "2")
    wait_until(lambda: generations(directory) >= 5, process)
    os.killpg(process.pid, signum)  # as a terminal and most schedulers do: to all of us
    _, errors = process.communicate(timeout=SOON)
    assert process.returncode == code
    assert f"stopped by {signum.name}" in errors
    assert f"nses resume {directory}" in errors
    assert "Traceback" not in errors
    reached = nses.load(directory).state.generation
    assert 5 <= reached < GENERATIONS
    assert reached == generations(directory)
    assert nses.resume(directory, backend="serial").digest == undisturbed


def test_p1_workers_killed_in_mid_generation_are_counted_and_change_nothing_else(
    tmp_path: Path, undisturbed: str, start: Start
):
    directory = tmp_path / "run"
    process = start(*TRAIN, "--run-dir", str(directory), "--workers", "2")
    wait_until(lambda: generations(directory) >= 3, process)
    workers = workers_of(process)
    assert len(workers) == 2
    for done, victims in ((3, workers[:1]), (10, workers[1:])):
        wait_until(lambda done=done: generations(directory) >= done, process)
        for victim in victims:
            victim.kill()
    _, errors = process.communicate(timeout=2 * SOON)
    assert process.returncode == 0, errors
    assert errors.count("SIGKILL") == 2
    run = nses.load(directory)
    assert sum(record["restarts"] for record in run.metrics) == 2
    assert run.digest == undisturbed


HUMANOID: dict[str, Any] = {
    "recipe": "smoke", "seed": 1, "n": 32, "generations": 6, "tensorboard": False,
    "pictures": False,
}  # fmt: skip


def test_a_humanoid_has_the_same_digest_in_this_process_for_any_number_of_workers_and_when_killed(
    tmp_path: Path, start: Start
):
    """P1 and P3 in compiled episodes, whose workers die in the middle of `mj_step`."""
    serial = nses.train("humanoid", run_dir=tmp_path / "serial", backend="serial", **HUMANOID)
    three = nses.train("humanoid", run_dir=tmp_path / "three", workers=3, **HUMANOID)
    assert three.digest == serial.digest

    directory = tmp_path / "killed"
    words = ("train", "humanoid", "--recipe", "smoke", "--seed", "1", "--n", "32", "--no-pictures")
    words += ("--generations", "6", "--no-tensorboard", "--checkpoint-seconds", "0.1")
    process = start(*words, "--run-dir", str(directory), "--workers", "2")
    wait_until(lambda: generations(directory) >= 1, process)
    workers_of(process)[0].kill()
    wait_until(lambda: generations(directory) >= 3, process)
    process.kill()
    _, errors = process.communicate()
    assert errors.count("SIGKILL") == 1
    assert nses.resume(directory, workers=1).digest == serial.digest


STUCK = """
import time
from pathlib import Path
from typing import Any
from nses.rollouts.tasks.point import PointTrapEnv

HERE = Path(__file__).parent

class Environment(PointTrapEnv):
    steps = 0
    def step(self, action):
        self.steps += 1
        if self.steps == 2 and (HERE / "run" / "config.json").exists():  # not at the first look
            (HERE / "hangs").touch()
            time.sleep(3600)
        return super().step(action)
"""


@pytest.mark.parametrize(("backend", "times"), [("serial", 2), ("processes", 1), ("processes", 2)])
def test_p7_ctrl_c_ends_a_run_while_an_environment_hangs(
    tmp_path: Path, backend: str, times: int, start: Start
):
    """In this process only a second one can; that of workers is not waited for."""
    (tmp_path / "stuck.py").write_text(STUCK)
    process = start(
        *("train", "stuck:Environment", "--max-steps", "5", "--run-dir", str(tmp_path / "run")),
        *("--backend", backend, "--workers", "1", "--no-tensorboard"),
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )
    wait_until((tmp_path / "hangs").exists, process)
    children = psutil.Process(process.pid).children(recursive=True)
    os.killpg(process.pid, signal.SIGINT)
    if backend == "serial":
        time.sleep(0.5)
        assert process.poll() is None
    if times == 2:
        os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=SOON)
    assert process.returncode == 130
    assert "Traceback" not in errors
    assert gone(children)


def test_p6_an_environment_that_hangs_for_ever_ends_a_run_with_exit_code_5(
    tmp_path: Path, start: Start
):
    (tmp_path / "stuck.py").write_text(STUCK)
    process = start(
        *("train", "stuck:Environment", "--max-steps", "5", "--run-dir", str(tmp_path / "run")),
        *("--deadline", "2", "--workers", "1", "--no-tensorboard"),
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )
    _, errors = process.communicate(timeout=2 * SOON)
    assert process.returncode == 5
    assert "while playing candidate" in errors
    assert "nses resume" in errors
    assert "Traceback" not in errors


def test_a_second_interrupt_ends_an_interactive_session_by_an_exception_only(monkeypatch):
    monkeypatch.setattr(sys, "ps1", "In : ", raising=False)
    with Interruption() as stop:
        signal.raise_signal(signal.SIGINT)
        assert stop()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
