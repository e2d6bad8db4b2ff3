"""Waiting in tests: for events, never for a quiet machine."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable
from contextlib import suppress

import psutil

SOON = 60.0  # seconds: more than a machine full of other work needs, less than what hangs takes


def wait_until(condition: Callable[[], bool], process: subprocess.Popen[str] | None = None) -> None:
    """Until it happens; a process that is to bring it about must not have ended before."""
    end = time.monotonic() + 2 * SOON
    while not condition():
        assert process is None or process.poll() is None, process.communicate()
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.005)


def gone(processes: Iterable[psutil.Process | int]) -> bool:
    """Whether all of these end soon; where nobody collects orphans, they stay as zombies."""
    alive = [p for p in map(_process, processes) if p is not None]
    end = time.monotonic() + SOON
    while alive and time.monotonic() < end:
        alive = [p for p in alive if _lives(p)]
        time.sleep(0.01)
    return not alive


def _lives(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:  # it ended between the two questions
        return False


def _process(process: psutil.Process | int) -> psutil.Process | None:
    try:
        return psutil.Process(process) if isinstance(process, int) else process
    except psutil.NoSuchProcess:
        return None


def end_session(process: subprocess.Popen[str]) -> None:
    """Ends a program that leads a session of its own, and all that it started there."""
    with suppress(ProcessLookupError):  # nobody is left
        os.killpg(process.pid, signal.SIGKILL)
    if process.poll() is None:
        process.kill()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            stream.close()
    process.wait()


def cpu_seconds(pid: int) -> float:
    """Processor time of a program and its children: how far it got, however busy the machine."""
    program, total = psutil.Process(pid), 0.0
    for process in (program, *program.children(recursive=True)):
        with suppress(psutil.NoSuchProcess):  # a child may end while we look
            times = process.cpu_times()
            total += times.user + times.system
    return total
