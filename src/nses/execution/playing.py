"""What a worker does from its first message to its last: play the units it is given."""

import threading
import time
import traceback
from itertools import chain
from multiprocessing.connection import Connection
from typing import Any

from nses.core.archive import empty
from nses.execution.cpus import threads_of_this_process
from nses.execution.job import NOTHING, Rows, episode_of, play, published, rows_in
from nses.execution.kept import Kept
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
        self.newest, self.foreseen, self.current, self.played = (
            self.progress[name] for name in ("number", "foreseen", "current", "played")
        )
        self.number, self.job, self.rows = 0, NOTHING, rows_in(self.jobs[0])
        self.archive, self.kept = empty(0), Kept()
        self.runner = Runner(plan, self.over)
        self.runner.warm_up()

    def over(self) -> bool:
        """Whether nobody is waiting for this job any more, nor will be."""
        return self.number > 0 and self._dropped(self.number)

    def _dropped(self, number: int) -> bool:
        return number not in (self.newest[0], self.foreseen[0])

    def play(self, number: int, place: int, unit: range) -> Rows | None:
        """The rows, already written to their places; None if nobody is waiting for them."""
        if self._dropped(self.kept.number):
            self.kept = Kept()
        if number != self.newest[0]:
            return None
        if number != self.number:
            self._turn_to(number, place)
            self.progress["job"][self.slot] = number
        known = self.kept.episodes if self.kept.number == number else {}
        begun = time.monotonic()
        try:
            played = play(self.runner, self.job, self.noise, unit, self._starting, self.rows, known)
        except Interrupted:
            played = None
        self.current[self.slot] = -1
        self._was_busy_since(begun)
        return played

    def look_ahead(self, turn: int, number: int, place: int, share: list[range]) -> bool:
        """Plays a share of a job that may come, until there is something else to play.

        Returns whether there is more to do. Nobody waits for any of this, so what fails here is
        left for when it is really asked for.
        """
        if number != self.kept.number:
            self.kept = Kept(number)
        self._turn_to(number, place)
        begun = time.monotonic()
        try:
            return self._keep(share, turn)
        except Interrupted:
            return True
        except MemoryError:
            raise
        except Exception:
            return False
        finally:
            self.number = 0  # when it is the current job, the archive will be another
            self._was_busy_since(begun)

    def _keep(self, share: list[range], turn: int) -> bool:
        for count, i in enumerate(chain(*share), 1):
            if self.progress["turn"][0] != turn:
                return True
            if i in self.kept.episodes:
                continue
            if self.kept.full:
                return False
            self.played[self.slot] += 1
            self.kept.add(i, episode_of(self.runner, self.job, self.noise, i))
            self.progress["ahead"][self.slot] = count
        return False

    def _turn_to(self, number: int, place: int) -> None:
        memory = self.jobs[place]
        self.number, self.job = number, published(memory, self.archive)
        self.rows = rows_in(memory)

    def _was_busy_since(self, begun: float) -> None:
        self.progress["busy"][self.slot] += time.monotonic() - begun

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
    try:
        connection.send(("ready",))
        while True:
            connection.send(_answer(station, connection))
    except (EOFError, ConnectionError):
        station.runner.close(say=slot == 0)  # the others would say the same
        return 0
    except MemoryError:
        raise
    except Exception:  # exceptions in episodes are caught there, so this is a bug of ours
        connection.send(("bug", traceback.format_exc()))
        return 1


def _answer(station: Station, connection: Connection) -> tuple[Any, ...]:
    """Does what it is told next that has an answer."""
    kind, *told = connection.recv()
    while kind == "archive":
        (entries,) = told
        station.archive = entries.added_to(station.archive)
        kind, *told = connection.recv()
    if kind == "ahead":
        return "back", told[1], station.look_ahead(*told)
    rows = station.play(*told)
    return ("left",) if rows is None else ("done", told[0], rows.errors, rows.first)
