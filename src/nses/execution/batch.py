"""A job on its way through a pool: what has come back so far, and the workers that play it."""

import subprocess
from collections import deque
from dataclasses import dataclass
from multiprocessing.connection import Connection

import numpy as np
from numpy.typing import NDArray

from nses.core.archive import Archive
from nses.execution.job import FirstTrace, Job, Memory, rows_in
from nses.execution.ledger import Holder, Ledger


@dataclass(frozen=True, eq=False)
class Settled:
    """What has come back from a job since it was last asked."""

    indices: list[int]  # candidates whose rows are in memory now
    first: FirstTrace | None
    errors: tuple[str, ...]  # of episodes, and which candidate killed its workers
    broken: tuple[str, ...]  # why workers could not set up the task
    killers: int  # candidates that failed because their workers died
    restarts: int  # workers replaced
    deaths: tuple[int, ...] = ()  # candidates that workers died or hung at, one for each time


class Batch:
    """A job on its way, and what has come back since it was last asked."""

    def __init__(self, number: int, job: Job, memory: Memory, foreseen: bool | None = None):
        self.number, self.job, self.foreseen = number, job, foreseen
        self.keepers: NDArray[np.int64] | None = None  # where workers have played some of it ahead
        self.rows = rows_in(memory).views(range(len(job)))
        self.ledger = Ledger()
        self._forget()

    def _forget(self) -> None:
        self.indices: list[int] = []
        self.first: FirstTrace | None = None
        self.errors: list[str] = []
        self.broken: list[str] = []
        self.killers, self.counted = 0, self.ledger.restarts
        self.ledger.blamed.clear()

    @property
    def cannot_wait(self) -> bool:
        """Whether there was a failure that may end the run."""
        return bool(self.errors or self.broken)

    def settled(self) -> Settled:
        said = Settled(
            self.indices,
            self.first,
            tuple(self.errors),
            tuple(self.broken),
            self.killers,
            self.ledger.restarts - self.counted,
            tuple(self.ledger.blamed),
        )
        self._forget()
        return said


class Worker:
    """A worker process: its connection, what it holds and what it knows."""

    def __init__(self, process: subprocess.Popen[bytes], connection: Connection, slot: int):
        self.process, self.connection, self.slot = process, connection, slot
        self.holder = Holder(f"worker {process.pid}", slot)
        self.asked: deque[int] = deque()  # the job number of every unit it has not answered
        self.knows: Archive | None = None

    @property
    def listens(self) -> bool:
        """Whether it is about to read what it is sent."""
        return self.holder.ready and not self.holder.ahead

    @property
    def idle(self) -> bool:
        return self.listens and not (self.holder.units or self.holder.reserved or self.asked)

    def look_ahead(self, turn: int, number: int, place: int, share: list[range]) -> None:
        """Asks it to play a share of a job that may come, until there is something else to play."""
        self.asked.append(number)
        self.holder.ahead = True
        try:
            self.connection.send(("ahead", turn, number, place, share))
        except OSError:  # as if it had died while looking ahead
            self.process.kill()

    def late(self, number: int) -> bool:
        """Whether it is still working on an older job than this."""
        return bool(self.asked) and self.asked[0] != number

    def end(self, seconds: float) -> int:
        """Waits so many seconds for it to leave, then kills it; returns its exit code."""
        self.connection.close()
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()
