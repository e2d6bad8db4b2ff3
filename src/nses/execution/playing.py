"""What a worker does from its first message to its last: play the units it is given."""

import threading
import traceback
from multiprocessing.connection import Connection

from nses.core.archive import empty
from nses.execution.cpus import threads_of_this_process
from nses.execution.job import NOTHING, Rows, play, published, rows_in
from nses.execution.own_code import unpacked
from nses.execution.runner import Runner
from nses.execution.shared import map_arrays
from nses.rollouts.foreign import Interrupted


class Station:
    """One simulator, what it shares with the coordinator, and what it has been told so far."""

    def __init__(self, content: bytes, descriptors: list[int], slot: int):
        if threads_of_this_process() not in (None, threading.active_count()):
            raise RuntimeError("BLAS started its own threads in a worker, despite its settings.")
        plan, layouts = unpacked(content)
        *self.jobs, self.progress, noise = map(map_arrays, descriptors, layouts)
        self.noise, self.slot = noise["table"], slot
        self.newest, self.current, self.played = (
            self.progress[name] for name in ("number", "current", "played")
        )
        self.number, self.job, self.rows = 0, NOTHING, rows_in(self.jobs[0])
        self.archive = empty(0)
        self.runner = Runner(plan, self.over)
        self.runner.warm_up()

    def over(self) -> bool:
        """Whether nobody is waiting for this job any more."""
        return self.number > 0 and bool(self.newest[0] != self.number)

    def play(self, number: int, unit: range) -> Rows | None:
        """The rows, already written to their places; None if nobody is waiting for them."""
        if number != self.newest[0]:
            return None
        if number != self.number:
            memory = self.jobs[number % len(self.jobs)]
            self.number, self.progress["job"][self.slot] = number, number
            self.job, self.rows = published(memory, self.archive), rows_in(memory)
        try:
            played = play(self.runner, self.job, self.noise, unit, self._starting, self.rows)
        except Interrupted:
            played = None
        self.current[self.slot] = -1
        return played

    def _starting(self, index: int) -> None:
        if self.over():
            raise Interrupted
        self.current[self.slot] = index
        self.played[self.slot] += 1


def work(connection: Connection, content: bytes, descriptors: list[int], slot: int) -> int:
    """Plays until the coordinator is gone; returns the exit code."""
    try:
        station = Station(content, descriptors, slot)
    except MemoryError:
        raise
    except Exception:
        connection.send(("broken", traceback.format_exc()))
        return 1
    connection.send(("ready",))
    while True:
        try:
            kind, *told = connection.recv()
        except (EOFError, ConnectionError):
            station.runner.close(say=slot == 0)  # the others would say the same
            return 0
        if kind == "archive":
            station.archive = told[0].added_to(station.archive)
            continue
        number, unit = told
        try:
            rows = station.play(number, unit)
        except MemoryError:
            raise
        except Exception:  # exceptions in episodes are caught there, so this is a bug of ours
            connection.send(("bug", traceback.format_exc()))
            return 1
        connection.send(("left",) if rows is None else ("done", number, rows.errors, rows.first))
