"""Worker processes give the bits of the serial evaluator, and leave nothing behind."""

import gc
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

import environments
from batches import (
    TABLE,
    archive,
    assert_same,
    perturbed,
    plan_of,
    processes,
    program,
    serially,
    unperturbed,
)
from environments import dawdle, drift, faulty, late_start, sleep_long, use_a_program, wait_for_lock
from nses.core.novelty import TREE_FROM
from nses.errors import TaskBroken
from nses.execution.pool import Pool
from nses.execution.processes import Processes
from nses.execution.runner import Plan
from nses.rollouts.episode import Interrupted, never
from nses.rollouts.tasks.catalog import make_task
from sources import WALK
from waiting import SOON

A = archive(20)
HEALTHY = plan_of(drift())
SLOW = plan_of(faulty(dawdle, range(1000)))  # the episodes of HEALTHY, 20 ms each


OTHERS = perturbed(SLOW, 64)
OTHERS = replace(OTHERS, theta=OTHERS.theta + 1)


def expected(plan: Plan = HEALTHY):  # type: ignore[no-untyped-def]
    return serially(plan, perturbed(plan), A)


@pytest.fixture(scope="module")
def healthy() -> Iterator[Processes]:
    with processes(HEALTHY) as evaluate:
        yield evaluate


@pytest.fixture(scope="module")
def lasting() -> Iterator[Processes]:
    with processes(SLOW) as evaluate:
        yield evaluate


@pytest.fixture
def slow(lasting: Processes) -> Processes:
    """Still works after the interruptions of other tests, as these see to."""
    lasting.pool.should_stop = never
    return lasting


@pytest.mark.slow
@pytest.mark.parametrize(
    "plan",
    [
        plan_of(make_task("point-trap")),
        plan_of(make_task("CartPole-v1", "final-observation:0,2"), distance="euclidean"),
    ],
    ids=["point-trap", "CartPole"],
)
def test_any_number_of_workers_gives_the_bits_of_the_serial_evaluator(plan: Plan):
    candidates, unchanged = perturbed(plan, 50), unperturbed(plan)
    serial = serially(plan, candidates, A), serially(plan, unchanged, A)
    assert serial[0].moments.count > 0
    for workers in (1, 3):  # others have two
        with processes(plan, workers) as evaluate:
            assert_same(evaluate(candidates, A), serial[0])
            assert_same(evaluate(unchanged, A), serial[1])


@pytest.mark.slow
def test_more_candidates_than_there_is_room_for_are_played_in_parts(healthy: Processes):
    assert healthy.pool.capacity == 64
    for n in (64, 66, 150):
        candidates = perturbed(HEALTHY, n)
        assert_same(healthy(candidates, A), serially(HEALTHY, candidates, A))
    candidates = unperturbed(HEALTHY, 131)
    assert_same(healthy(candidates, A), serially(HEALTHY, candidates, A))


def test_workers_follow_an_archive_that_grows_is_exchanged_and_comes_back(healthy: Processes):
    candidates = perturbed(HEALTHY)
    small = archive(0)
    grown = small.append([1.0, 2.0])
    fork = small.append([[3.0, 3.0], [4.0, 4.0]])
    large = archive(TREE_FROM + 10)
    larger = large.append([0.5, 0.5]).append([0.1, 0.2])
    for A in (small, grown, grown, fork, grown.append([9.0, 9.0]), small, large, larger, grown):
        assert_same(healthy(candidates, A), serially(HEALTHY, candidates, A))


@pytest.mark.slow
def test_fewer_candidates_than_workers_are_played(healthy: Processes):
    candidates = unperturbed(HEALTHY, 1)
    assert_same(healthy(candidates, A), serially(HEALTHY, candidates, A))


@pytest.mark.slow
def test_p15_workers_are_programs_of_their_own_not_forks():
    """A fork would hold the lock for ever, since its holder stays behind."""
    plan = plan_of(faulty(wait_for_lock, range(1000)))
    release = threading.Event()

    def hold() -> None:
        with environments.LOCK:
            release.wait()

    holder = threading.Thread(target=hold)
    holder.start()
    try:
        with processes(plan, deadline=SOON) as evaluate:
            e = evaluate(perturbed(plan), A)
            for worker in evaluate.pool.workers:
                command = psutil.Process(worker.process.pid).cmdline()
                assert Path(command[2]).name == "worker.py"
    finally:
        release.set()
        holder.join()
    assert_same(e, expected())
    assert e.restarts == 0


@pytest.mark.slow
def test_p7_p8_workers_ignore_the_signals_of_the_user_at_all_times():
    sent: list[int] = []

    def send() -> bool:
        for worker in evaluate.pool.workers:
            for signum in (signal.SIGINT, signal.SIGTERM):
                os.kill(worker.process.pid, signum)
                sent.append(signum)
        return False

    with processes(SLOW, should_stop=send) as evaluate:
        send()  # the interpreters have not even started
        e = evaluate(perturbed(SLOW), A)
        pids = [worker.process.pid for worker in evaluate.pool.workers]
    assert len(sent) > 4
    assert_same(e, expected())
    assert e.restarts == 0
    assert not any(map(psutil.pid_exists, pids))


@pytest.mark.slow
def test_p8_programs_that_an_environment_starts_do_not_ignore_them():
    plan = plan_of(faulty(use_a_program, {3}))
    with processes(plan, workers=1) as evaluate:
        assert_same(evaluate(perturbed(plan), A), expected())


@pytest.mark.slow
def test_after_an_interruption_the_evaluator_still_works(slow: Processes):
    """Whoever was playing is killed, so that no old result turns up later."""
    actions = iter([False, False, True])

    def stop() -> bool:
        return any(worker.holder.units for worker in slow.pool.workers) and next(actions, False)

    slow.pool.should_stop = stop
    with pytest.raises(Interrupted):
        slow(OTHERS, A)
    e = slow(perturbed(SLOW), A)
    assert_same(e, expected())
    assert e.restarts == 0


@pytest.mark.slow
def test_p7_after_a_keyboard_interrupt_anywhere_the_evaluator_still_works(slow: Processes):
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job ignores it
    slow(perturbed(SLOW), A)
    for delay in (0.0, 0.02, 0.3):
        timer = threading.Timer(delay, os.kill, (os.getpid(), signal.SIGINT))
        with pytest.raises(KeyboardInterrupt):  # noqa: PT012  (it may come anywhere in here)
            timer.start()
            slow(OTHERS, A)
            timer.join()
    e = slow(perturbed(SLOW), A)
    assert_same(e, expected())
    assert e.restarts == 0


@pytest.mark.slow
def test_p7_a_second_keyboard_interrupt_while_cleaning_up_does_no_harm(
    monkeypatch: pytest.MonkeyPatch, slow: Processes
):
    def stop() -> bool:
        if any(worker.holder.units for worker in slow.pool.workers):
            raise KeyboardInterrupt
        return False

    def second() -> None:
        raise KeyboardInterrupt

    slow.pool.should_stop = stop
    with monkeypatch.context() as patch:
        patch.setattr(slow.pool, "_give_up", second)
        with pytest.raises(KeyboardInterrupt):
            slow(OTHERS, A)
    disturbed = {worker.process.pid for worker in slow.pool.workers if worker.holder.units}
    assert disturbed
    slow.pool.should_stop = never
    assert_same(slow(perturbed(SLOW), A), expected())
    assert disturbed.isdisjoint(worker.process.pid for worker in slow.pool.workers)


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_close_leaves_no_process_and_no_descriptor_behind():
    gc.collect()
    files, children = open_files(), psutil.Process().children(recursive=True)
    evaluate = Processes(Pool(HEALTHY, TABLE.size, capacity=64, workers=2))
    evaluate.noise[:] = TABLE
    evaluate(perturbed(HEALTHY), A)
    assert len(psutil.Process().children()) == len(children) + 2
    evaluate.close()
    evaluate.close()
    assert psutil.Process().children(recursive=True) == children
    del evaluate
    gc.collect()
    assert open_files() == files


@pytest.mark.slow
def test_p6_close_does_not_wait_for_workers_that_hang():
    plan = plan_of(late_start(sleep_long))
    with processes(plan):
        time.sleep(0.5)
        before = time.monotonic()
    assert time.monotonic() - before < SOON


def test_a_task_that_cannot_be_sent_is_refused_before_anything_is_started():
    files = open_files()
    lock = threading.Lock()
    plan = plan_of(drift().revised(make=lambda: lock and environments.Drift()))
    said = (
        r"the environment of the task \(.*<lambda>\) cannot be sent to worker processes: .*lock.*"
    )
    with pytest.raises(ValueError, match=said + "'module:attribute'"):
        Pool(plan, TABLE.size, capacity=64, workers=1)
    assert open_files() == files


def test_e3_a_task_that_cannot_be_set_up_is_broken():
    plan = plan_of(late_start(environments.refuse))
    with processes(plan, workers=2) as evaluate, pytest.raises(TaskBroken) as info:
        evaluate(perturbed(plan), A)
    assert "Unsendable: no licence for worker 7" in str(info.value)  # P14
    assert "in refuse" in str(info.value)


# Whole programs.

SCRIPT = f"""
import sys
from nses.rollouts.behaviors import Behavior
from nses.rollouts.tasks.task import Task
from batches import *

STEP = 1.0
{WALK}
def place(observation, info):
    return observation

plan = plan_of(Task("walk", lambda: Walk(), Behavior("place", place), 4))
A = archive(7, 1)
"""


def test_tasks_defined_in_a_script_without_a_guard_work(tmp_path: Path):
    text = f"""{SCRIPT}
with processes(plan) as evaluate:
    assert_same(evaluate(perturbed(plan), A), serially(plan, perturbed(plan), A))
print("the same")
"""
    done = subprocess.run(**program(tmp_path, text), text=True, timeout=4 * SOON, check=False)
    output, errors = done.stdout, done.stderr
    assert (output, errors) == ("the same\n", "")


@pytest.mark.slow
@pytest.mark.parametrize("end", ["evaluate.close()", "sys.exit(0)", "evaluate(perturbed(plan), A)"])
def test_programs_end_without_noise_whenever_they_end(tmp_path: Path, end: str):
    text = f"""{SCRIPT}
evaluate = Processes(Pool(plan, TABLE.size, capacity=64, workers=2))
{end}
"""
    done = subprocess.run(**program(tmp_path, text), text=True, timeout=4 * SOON, check=False)
    assert done.stderr == ""
