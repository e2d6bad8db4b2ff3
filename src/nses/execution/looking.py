"""Try out a foreign task in a separate process, and report whatever happens there."""

import os
import signal
import time
from contextlib import closing
from multiprocessing.connection import Connection
from typing import Any

from nses.errors import TaskBroken
from nses.execution.pool import DEADLINE, START, TICK
from nses.execution.shared import anonymous_file
from nses.execution.spawn import PATIENCE, Unsendable, packed, reason_of, spawn, starting
from nses.rollouts.foreign import generators_kept
from nses.rollouts.look import Look, look_of, stages
from nses.rollouts.tasks.task import Task


def look(task: Task, deadline: float = DEADLINE, thorough: bool = False) -> Look:
    """Try out a task; TaskBroken if it does not work, or if its process dies or hangs.

    The deadline applies to a reset and a step; making the environment may take longer, as it may in
    workers. Failures in later episodes are left to training, unless the look is thorough. A task
    that cannot be sent to another process is tried in this one.
    """
    try:
        setup = packed((task, thorough))
    except Unsendable:
        with generators_kept():
            return look_of(dict(stages(task, thorough)))
    last = "checked" if thorough else "facts"
    found, code = _tried(task, setup, deadline, last)
    if code == -signal.SIGKILL:  # somebody killed it, or it did so itself: try once more
        found, code = _tried(task, setup, deadline, last)
    if last in found:
        return look_of(found)
    raise TaskBroken(
        f"the environment of {task.name!r} ended its process {_when(found)} ({reason_of(code)})."
    )


def _tried(task: Task, setup: bytes, deadline: float, last: str) -> tuple[dict[str, Any], int]:
    """What a process reports, and its exit code if it ended before the last stage."""
    with starting():
        descriptor = anonymous_file(len(setup), setup)
    try:
        process, connection = spawn(descriptor)
    finally:
        os.close(descriptor)
    try:
        with closing(connection):
            found = _heard(task, connection, deadline, last)
        return found, 0 if last in found else process.wait(PATIENCE)
    finally:
        process.kill()
        process.wait()


def limit_told(task: Task, deadline: float = DEADLINE) -> int | None:
    """The step limit that the environment of a task tells, asked in a separate process."""
    return look(task.revised(step_limit=1), deadline).limit


def _heard(task: Task, connection: Connection, deadline: float, last: str) -> dict[str, Any]:
    """What the process reports, stage by stage, until it ends, or hangs after the last stage."""
    found: dict[str, Any] = {}
    while True:
        brief = "made" in found and ("facts" not in found or last == "facts")
        bound = deadline if brief else max(deadline, START)
        if not _says_something(connection, bound):
            if last in found:
                return found
            raise TaskBroken(
                f"the environment of {task.name!r} did not answer within {bound:g} s "
                f"{_when(found)}; --deadline (deadline=...) gives it more time."
            )
        try:
            stage, content = connection.recv()
        except (EOFError, OSError):
            return found
        if stage == "broken":
            raise TaskBroken(content)
        found[stage] = content


def _says_something(connection: Connection, seconds: float) -> bool:
    """Whether a message comes in time, not counting time when both are stopped (Ctrl-Z)."""
    waited = 0.0
    while waited <= seconds:
        before = time.monotonic()
        if connection.poll(TICK):
            return True
        waited += min(time.monotonic() - before, 1.0)
    return False


def _when(found: dict[str, Any]) -> str:
    if "facts" in found:
        return "in a later episode"
    return "in its first step" if "made" in found else "while it was being made"
