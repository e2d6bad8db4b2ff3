"""Workers that die, hang or run out of memory: the result is the same, or the end is clear."""

import logging
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import psutil
import pytest

from batches import (
    archive,
    assert_same,
    perturbed,
    plan_of,
    processes,
    program,
    serially,
    unperturbed,
    wait_until_ready,
)
from environments import (
    be_killed,
    complain,
    complain_unsendably,
    dawdle,
    drift,
    exhaust_memory,
    faulty,
    fork_and_be_killed,
    hang,
    hang_with_gil,
    hold,
    late_start,
    refuse,
    segfault,
    sleep_long,
    take_three_seconds,
    vanish,
)
from nses.core.values import Evaluation
from nses.errors import TaskBroken, TooManyFailures
from nses.execution import pool as module
from nses.execution.ledger import ATTEMPTS
from nses.execution.processes import Processes
from waiting import SOON, gone

A = archive(20)
HEALTHY = plan_of(drift())
SLOW = plan_of(faulty(dawdle, range(1000)))  # the episodes of HEALTHY, 20 ms each


def expected(n: int = 32) -> Evaluation:
    return serially(HEALTHY, perturbed(HEALTHY, n), A)


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [r.getMessage() for r in caplog.records if r.levelno == logging.WARNING]


def kill_playing(evaluate: Processes, victims: int, gate: Path) -> None:
    """Kills so many workers, once, while they play at a gate that opens after that."""

    def kill() -> bool:
        playing = [
            w for w in evaluate.pool.workers if evaluate.pool.progress["current"][w.slot] >= 0
        ]
        if not gate.exists() and len(playing) >= victims:
            for worker in playing[:victims]:
                os.kill(worker.process.pid, signal.SIGKILL)
            gate.touch()
        return False

    evaluate.pool.should_stop = kill


@pytest.mark.parametrize(
    ("workers", "victims"), [(2, 1), pytest.param(3, 3, marks=pytest.mark.slow)]
)
def test_p1_workers_killed_in_mid_generation_change_nothing_but_the_restart_count(
    workers: int, victims: int, caplog: pytest.LogCaptureFixture, tmp_path: Path
):
    gate = tmp_path / "gate"
    plan = plan_of(faulty(partial(hold, gate), range(1000)))
    with processes(plan, workers) as evaluate:
        pids = {worker.process.pid for worker in evaluate.pool.workers}
        wait_until_ready(evaluate)
        kill_playing(evaluate, victims, gate)
        e = evaluate(perturbed(plan), A)
        assert len(pids - {worker.process.pid for worker in evaluate.pool.workers}) == victims
        assert len(evaluate.pool.workers) == workers
        again = evaluate(perturbed(plan), A)
    assert_same(e, expected())
    assert e.restarts == victims
    assert len(caplog.records) == victims
    opened = gate.stat().st_mtime
    assert all(record.created - opened < SOON for record in caplog.records)
    assert all("SIGKILL" in text and "playing candidate" in text for text in warnings(caplog))
    assert_same(again, expected())
    assert again.restarts == 0


@pytest.mark.slow
def test_p1_workers_killed_between_generations_are_replaced():
    """Even more of them at once than attempts are allowed."""
    workers = ATTEMPTS + 1
    with processes(HEALTHY, workers) as evaluate:
        assert_same(evaluate(perturbed(HEALTHY), A), expected())
        for worker in evaluate.pool.workers:
            os.kill(worker.process.pid, signal.SIGKILL)
        e = evaluate(perturbed(HEALTHY), A)
    assert_same(e, expected())
    assert e.restarts == workers


@pytest.mark.slow
def test_p1_workers_killed_while_they_start_are_replaced():
    with processes(HEALTHY) as evaluate:
        for worker in evaluate.pool.workers:
            os.kill(worker.process.pid, signal.SIGKILL)
        assert_same(evaluate(perturbed(HEALTHY), A), expected())


@pytest.mark.slow
def test_p1_a_dead_worker_is_noticed_though_its_child_keeps_the_connection_open(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    plan = plan_of(faulty(fork_and_be_killed, {4}, tmp_path))
    died = []
    try:
        with processes(plan, workers=1) as evaluate:
            e = evaluate(perturbed(plan), A)
            died = [(tmp_path / "4").stat().st_mtime]  # its child still waits for this to go
    finally:
        (tmp_path / "4").unlink(missing_ok=True)
    assert_same(e, expected())
    assert e.restarts == 1
    (record,) = caplog.records
    assert record.created - died[0] < SOON  # long before its deadline


def test_p2_a_candidate_that_kills_every_worker_fails_alone(caplog: pytest.LogCaptureFixture):
    plan = plan_of(faulty(segfault, {7}))
    with processes(plan) as evaluate:
        e = evaluate(perturbed(plan), A)
    assert np.isnan(e.f).nonzero()[0].tolist() == [7]
    assert (e.N[7], e.lengths[7]) == (0.0, 0)
    assert_same(e, expected(), but=(7,))
    assert e.restarts == ATTEMPTS
    assert "candidate 7 killed 3 workers (SIGSEGV)" in warnings(caplog)[-1]


@pytest.mark.slow
def test_p2_an_unperturbed_episode_that_exits_fails_alone_too(caplog: pytest.LogCaptureFixture):
    plan = plan_of(faulty(vanish, {1}))
    with processes(plan, workers=1) as evaluate:
        e = evaluate(unperturbed(plan), A)
    assert e.b is not None
    assert np.isnan(e.b).all(axis=1).tolist() == [False, True, False, False, False]
    assert_same(e, serially(HEALTHY, unperturbed(HEALTHY), A), but=(1,))
    assert "candidate 1 killed 3 workers (exit code 7)" in warnings(caplog)[-1]


@pytest.mark.slow
def test_p2_too_many_candidates_that_kill_their_worker_end_it_early():
    plan = plan_of(faulty(segfault, range(32)))
    restarts = 0
    with processes(plan) as evaluate:
        start = evaluate.pool._start

        def count(slot: int) -> module.Worker:
            nonlocal restarts
            restarts += 1
            return start(slot)

        evaluate.pool._start = count  # type: ignore[method-assign]
        with pytest.raises(TooManyFailures, match=r"2 of 32 episodes failed.*SIGSEGV"):
            evaluate(perturbed(plan), A)
    assert restarts < 12  # not three for every candidate


@pytest.mark.slow
@pytest.mark.parametrize("fault", [hang, hang_with_gil])
def test_p6_a_candidate_that_always_hangs_ends_it(
    fault: Callable[..., None], caplog: pytest.LogCaptureFixture
):
    plan = plan_of(faulty(fault, {5}))
    with processes(plan, deadline=1.0) as evaluate:
        with pytest.raises(TooManyFailures, match=r"hung.* while playing candidate 5 \(3 times\)"):
            evaluate(perturbed(plan), A)
        pids = [worker.process.pid for worker in evaluate.pool.workers]
    hung = [text for text in warnings(caplog) if text.endswith("while playing candidate 5.")]
    assert len(hung) == ATTEMPTS
    assert not any(map(psutil.pid_exists, pids))


@pytest.mark.slow
def test_p6_a_candidate_that_hangs_once_plays_the_same_episode_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    plan = plan_of(faulty(hang, {5}, tmp_path))
    with processes(plan, deadline=1.0) as evaluate:
        e = evaluate(perturbed(plan), A)
    assert_same(e, expected())
    assert e.restarts >= 1  # on a busy machine others may look as if they hung
    message = r"worker \d+ hung for [.\d]+ s while playing candidate 5\."
    assert any(re.fullmatch(message, text) for text in warnings(caplog))


@pytest.mark.slow
def test_p6_a_short_deadline_does_not_count_while_workers_start():
    plan = plan_of(late_start(take_three_seconds))
    with processes(plan, workers=1, deadline=2.0) as evaluate:
        e = evaluate(perturbed(plan), A)
    assert_same(e, expected())
    assert e.restarts == 0


@pytest.mark.slow
def test_p6_a_worker_that_always_hangs_at_the_start_ends_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "START", 0.5)
    plan = plan_of(late_start(sleep_long))
    with (
        processes(plan, workers=1, deadline=0.5) as evaluate,
        pytest.raises(TooManyFailures, match=r"hung for [.\d]+ s while starting"),
    ):
        evaluate(perturbed(plan), A)


@pytest.mark.slow
def test_p6_a_worker_that_hangs_once_at_the_start_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    plan = plan_of(late_start(sleep_long, tmp_path))
    with processes(plan, workers=1, deadline=1.0) as evaluate:
        first = evaluate.pool.workers[0]

        def lose_patience() -> bool:
            hangs = first in evaluate.pool.workers and (tmp_path / "start").exists()
            monkeypatch.setattr(module, "START", 0.5 if hangs else SOON)
            return False

        evaluate.pool.should_stop = lose_patience
        e = evaluate(perturbed(plan), A)
    assert_same(e, expected())
    assert e.restarts >= 1


@pytest.mark.slow
def test_p6_a_worker_that_is_stopped_while_it_is_told_something_long_is_replaced():
    large = archive(50_000)  # more than a connection holds
    with processes(HEALTHY) as evaluate:
        wait_until_ready(evaluate)
        evaluate(perturbed(HEALTHY), A)
        os.kill(evaluate.pool.workers[0].process.pid, signal.SIGSTOP)
        e = evaluate(perturbed(HEALTHY), large)
    assert_same(e, serially(HEALTHY, perturbed(HEALTHY), large))
    assert e.restarts == 1


@pytest.mark.slow
def test_p6_time_in_which_the_coordinator_is_stopped_does_not_count(
    monkeypatch: pytest.MonkeyPatch,
):
    """Ctrl-Z stops everybody; workers are not to blame for the time until `fg`."""
    clock = time.monotonic
    stopped = 0.0

    def stop() -> bool:
        nonlocal stopped
        if any(evaluate.pool.progress["current"] >= 0):
            stopped += 1000.0
        return False

    monkeypatch.setattr(module.time, "monotonic", lambda: clock() + stopped)
    with processes(SLOW, deadline=30.0, should_stop=stop) as evaluate:
        e = evaluate(perturbed(SLOW), A)
    assert stopped > 0
    assert_same(e, expected())
    assert e.restarts == 0


def test_p13_a_worker_out_of_memory_is_replaced_and_the_log_says_why(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    plan = plan_of(faulty(exhaust_memory, {5}, tmp_path))
    with processes(plan, workers=1) as evaluate:
        e = evaluate(perturbed(plan), A)
    assert_same(e, expected())
    assert e.restarts == 1
    (text,) = warnings(caplog)
    assert "died (out of memory) while playing candidate 5" in text


@pytest.mark.slow
def test_p13_a_candidate_that_always_needs_too_much_memory_fails_alone(
    caplog: pytest.LogCaptureFixture,
):
    plan = plan_of(faulty(exhaust_memory, {5}))
    with processes(plan, workers=1) as evaluate:
        e = evaluate(perturbed(plan), A)
    assert np.isnan(e.f).nonzero()[0].tolist() == [5]
    assert_same(e, expected(), but=(5,))
    assert "candidate 5 killed 3 workers (out of memory)" in warnings(caplog)[-1]


@pytest.mark.slow
def test_p13_a_worker_killed_as_the_kernel_does_it_is_replaced_and_the_log_says_why(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    plan = plan_of(faulty(be_killed, {5}, tmp_path))
    with processes(plan, workers=1) as evaluate:
        e = evaluate(perturbed(plan), A)
    assert_same(e, expected())
    (text,) = warnings(caplog)
    assert "SIGKILL, often sent when memory runs out" in text


def test_p14_an_exception_that_cannot_be_sent_arrives_as_text(caplog: pytest.LogCaptureFixture):
    plan = plan_of(faulty(complain_unsendably, {5}))
    with processes(plan, workers=1) as evaluate:
        e = evaluate(perturbed(plan), A)
    assert np.isnan(e.f).nonzero()[0].tolist() == [5]
    assert_same(e, expected(), but=(5,))
    (text,) = warnings(caplog)
    assert "Traceback" in text
    assert "in complain_unsendably" in text
    assert "Unsendable: the answer is 42" in text


@pytest.mark.slow
def test_e3_an_environment_that_raises_once_plays_the_same_episode_again(tmp_path: Path):
    plan = plan_of(faulty(complain, range(32), tmp_path))
    with processes(plan, workers=1) as evaluate:
        e = evaluate(perturbed(plan), A)
    assert_same(e, expected())
    assert e.restarts == 0


@pytest.mark.slow
def test_e3_when_everything_fails_at_first_the_task_is_broken():
    plan = plan_of(faulty(complain, range(32)))
    with (
        processes(plan, workers=1) as evaluate,
        pytest.raises(TaskBroken, match="the simulator is upset"),
    ):
        evaluate(unperturbed(plan), A)


@pytest.mark.slow
def test_e3_a_task_that_worked_may_fail_to_be_set_up_for_a_while(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    (tmp_path / "start").touch()
    plan = plan_of(late_start(refuse, tmp_path))
    with processes(plan, workers=1) as evaluate:
        evaluate(perturbed(plan), A)
        (tmp_path / "start").unlink()  # the next worker is refused, and those after it are not
        os.kill(evaluate.pool.workers[0].process.pid, signal.SIGKILL)
        e = evaluate(perturbed(plan), A)
    assert_same(e, expected())
    assert e.restarts == 2
    assert "Unsendable: no licence for worker 7" in caplog.text


# The coordinator dies.

SCRIPT = """
import threading
from batches import *
from environments import *

plan = plan_of(faulty({fault}, range(1000)))

def all_play(evaluate):
    return (evaluate.pool.progress["current"] >= 0).all()

def work():
    with processes(plan, deadline=600.0) as evaluate:
        print(*(worker.process.pid for worker in evaluate.pool.workers), flush=True)
        evaluate.pool.should_stop = lambda: all_play(evaluate) and print("busy", flush=True)
        evaluate(perturbed(plan), archive(3))

{how}
"""
IN_MAIN_THREAD = "work()"
IN_ANOTHER_THREAD = "thread = threading.Thread(target=work); thread.start(); thread.join()"


def shared_memory() -> set[str]:
    return {
        name for name in os.listdir("/dev/shm") if name.startswith(("nses", "psm", "pym", "sem"))
    }


Busy = Callable[[str, str], tuple[subprocess.Popen[str], list[int]]]


@pytest.fixture
def busy_coordinator(tmp_path: Path, launch: Callable[..., subprocess.Popen[str]]) -> Busy:
    """Starts a program whose two workers both play, for ever."""

    def begin(fault: str, how: str) -> tuple[subprocess.Popen[str], list[int]]:
        coordinator = launch(**program(tmp_path, SCRIPT.format(fault=fault, how=how)))
        assert coordinator.stdout is not None
        pids = [int(pid) for pid in coordinator.stdout.readline().split()]
        assert len(pids) == 2
        assert coordinator.stdout.readline() == "busy\n"
        return coordinator, pids

    return begin


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "how"),
    [("hang_with_gil", IN_MAIN_THREAD), ("hang", IN_ANOTHER_THREAD), ("play_on", IN_MAIN_THREAD)],
    ids=["in foreign code", "in another thread", "playing"],
)
def test_p3_when_the_coordinator_is_killed_its_workers_end_whatever_they_do(
    busy_coordinator: Busy, fault: str, how: str
):
    before = shared_memory()
    coordinator, pids = busy_coordinator(fault, how)
    coordinator.kill()
    assert gone(pids)
    _, errors = coordinator.communicate()
    assert errors == ""
    assert shared_memory() <= before


@pytest.mark.slow
def test_p5_when_the_process_group_is_killed_nothing_is_left(busy_coordinator: Busy):
    before = shared_memory()
    coordinator, pids = busy_coordinator("hang", IN_MAIN_THREAD)
    os.killpg(coordinator.pid, signal.SIGKILL)
    assert gone(pids)
    coordinator.communicate()
    assert shared_memory() <= before
