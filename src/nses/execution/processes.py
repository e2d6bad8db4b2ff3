"""Episodes in worker processes that live for the whole run and may die at any time.

The coordinator writes theta, seeds and noise offsets into shared memory once per generation, hands
out small units of candidates, and finds the results in shared memory, by candidate. A worker that
dies or hangs is replaced, and what it had not finished is handed out again.
"""

import logging
import os
import subprocess
import time
from collections.abc import Callable
from dataclasses import replace
from multiprocessing.connection import Connection, wait

import numpy as np

from nses.core.archive import Archive
from nses.core.noise import Table
from nses.core.values import Candidates, Evaluation
from nses.errors import TaskBroken
from nses.execution.cpus import usable_cpus
from nses.execution.evaluator import Judge, evaluation
from nses.execution.job import (
    FAILED,
    OPEN,
    FirstTrace,
    Job,
    Rows,
    empty_rows,
    job_of,
    memory_fields,
    publish,
    rows_in,
)
from nses.execution.ledger import ATTEMPTS, Holder, Ledger
from nses.execution.runner import Plan
from nses.execution.shared import Field, anonymous_file, map_arrays, size_of
from nses.execution.spawn import PATIENCE, packed, reason_of, spawn, starting
from nses.rollouts.episode import Interrupted, never

log = logging.getLogger("nses")

IN_FLIGHT = 2  # units per worker, so that none waits for the coordinator
TICK = 0.2  # seconds between looks at deadlines and interruptions
CLOSING = 2.0  # seconds for all workers together to close their environments
DEADLINE = 300.0  # seconds per episode
START = 60.0  # seconds that a worker may take at least to start, however short the deadline


def noise_fields(size: int) -> list[Field]:
    return [("table", "f4", (size,))]


class Batch:
    """A job on its way: who plays it, and the first trace that came of it."""

    def __init__(self, number: int, job: Job):
        self.number, self.job = number, job
        self.ledger = Ledger(len(job))
        self.first: FirstTrace | None = None

    def keep(self, first: FirstTrace | None) -> None:
        """The trace of the lowest index, in whatever order they come."""
        known = [x for x in (self.first, first) if x is not None]
        self.first = min(known, key=lambda x: x[0], default=None)


class Worker:
    """One process, its connection, what it holds and what it knows."""

    def __init__(self, process: subprocess.Popen[bytes], connection: Connection, slot: int):
        self.process, self.connection, self.slot = process, connection, slot
        self.holder = Holder(f"worker {process.pid}", slot)
        self.knows: Archive | None = None

    def end(self, seconds: float) -> int:
        """Its exit code; it may take some seconds to leave before it is killed."""
        self.connection.close()
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()


class Processes:
    """An `Evaluate` that owns worker processes; close it, or use it as a context manager.

    `noise` is a table of `noise_size` numbers in memory that the workers share, to be filled by the
    caller before the first call.
    """

    def __init__(
        self,
        plan: Plan,
        noise_size: int,
        *,
        capacity: int,
        workers: int | None = None,
        deadline: float = DEADLINE,
        should_stop: Callable[[], bool] = never,
    ):
        self.plan, self.deadline, self.should_stop = plan, deadline, should_stop
        self.capacity = max(64, capacity + capacity % 2)
        self.judge = Judge()
        self.batches = 0
        self.settled = True  # whether the last batch came to its end
        self.count, d = workers or usable_cpus(), plan.policy.size
        fields = [
            *memory_fields(d, self.capacity, plan.moments_size, plan.behavior_size),
            ("current", "i8", (self.count,)),  # the candidate that a worker plays, -1 when idle
            ("played", "i8", (self.count,)),  # episodes started, which shows that it goes on
        ]
        setup = packed((plan, fields, noise_fields(noise_size)))
        with starting():
            self.setup_descriptor = anonymous_file(len(setup), setup)
            self.descriptor = anonymous_file(size_of(fields))
            self.shared = map_arrays(self.descriptor, fields)
            self.noise_descriptor = anonymous_file(size_of(noise_fields(noise_size)))
            noise = map_arrays(self.noise_descriptor, noise_fields(noise_size))
        self.noise: Table = noise["table"]
        self.workers: list[Worker] = []
        try:
            self._recruit()
        except BaseException:
            self.close()
            raise

    def __call__(self, candidates: Candidates, archive: Archive) -> Evaluation:
        """As the serial evaluator, to the bit."""
        job = job_of(candidates, archive)
        if len(job) <= self.capacity:
            rows, restarts = self._run(job)
            return evaluation(job, rows, self.judge, restarts)
        whole, first, lost = empty_rows(len(job), self.plan), None, 0
        for start in range(0, len(job), self.capacity):
            part = range(start, min(len(job), start + self.capacity))
            rows, restarts = self._run(job.part(part))
            whole.write(part, rows)
            first, lost = first or rows.first, lost + restarts
        return evaluation(job, replace(whole, first=first), self.judge, lost)

    def close(self) -> None:
        """Ends the workers: their connection closes, and who does not listen is killed."""
        if not self.shared:
            return
        for worker in self.workers:
            worker.connection.close()
        end = time.monotonic() + CLOSING
        for worker in self.workers:
            worker.end(max(0.0, end - time.monotonic()))
        self.workers = []
        self.shared = {}
        for descriptor in (self.setup_descriptor, self.descriptor, self.noise_descriptor):
            os.close(descriptor)

    def __enter__(self) -> "Processes":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # One batch: publish, hand out, collect.

    def _run(self, job: Job) -> tuple[Rows, int]:
        """The rows, which are views of shared memory, and how many workers were replaced."""
        if not self.settled:
            self._give_up()  # again: a second Ctrl-C may have come in between
        self.settled = False
        self.batches += 1
        publish(job, self.shared)
        self.shared["status"][: len(job)] = OPEN
        batch = Batch(self.batches, job)
        try:
            self._collect(batch)
        except BaseException:
            self._give_up()
            raise
        self.settled = True
        rows = rows_in(self.shared).head(len(job))
        return replace(rows, first=batch.first), batch.ledger.restarts

    def _collect(self, batch: Batch) -> None:
        looked = time.monotonic()
        while batch.ledger.open:
            self._recruit()
            for room in range(1, IN_FLIGHT + 1):  # one for everybody before a second for anybody
                for worker in self.workers:
                    self._hand_out(worker, batch, room)
            for connection in wait([w.connection for w in self.workers], TICK):
                worker = next(w for w in self.workers if w.connection is connection)
                try:
                    self._receive(worker, batch)
                except (EOFError, OSError):
                    self._bury(worker, batch, hung=False)
            if self.should_stop():
                raise Interrupted
            passed = time.monotonic() - looked
            if passed >= TICK:
                looked += passed
                for worker in list(self.workers):
                    if self._overdue(worker, passed):
                        self._bury(worker, batch, hung=True)
                    elif worker.process.poll() is not None and not worker.connection.poll():
                        # Something that it started keeps its connection open.
                        self._bury(worker, batch, hung=False)

    def _hand_out(self, worker: Worker, batch: Batch, room: int) -> None:
        if not worker.holder.ready or len(worker.holder.units) >= room:
            return
        # Taken before it is sent: if sending fails, the worker is buried and its units come back.
        unit = batch.ledger.take(worker.holder)
        if unit is None:
            return
        try:
            self._teach(worker, batch.job.archive)
            worker.connection.send(("unit", batch.number, unit))
        except OSError:  # it is dead or does not listen; the next wait says so, its units come back
            worker.process.kill()

    def _teach(self, worker: Worker, archive: Archive) -> None:
        """What the worker does not know of the archive yet."""
        known, start = worker.knows, 0
        if known is not None and archive.extends(known):
            start = len(known)
            if start == len(archive):
                return
        # All vectors at once, but traces one by one: together they may be very large.
        for entries in archive.traces[start:] or [archive.rows[start:]]:
            worker.connection.send(("archive", start, entries))
            start += 1
        worker.knows = archive

    def _receive(self, worker: Worker, batch: Batch) -> None:
        kind, content = worker.connection.recv()
        holder = worker.holder
        holder.silent = 0.0
        if kind == "ready":
            holder.ready = True
        elif kind == "done":
            errors, first = content
            batch.ledger.accept(holder, holder.units[0])
            batch.keep(first)
            for error in errors:
                self.judge.note(error)
        elif kind == "broken":
            if not self.judge.worked:
                raise TaskBroken(f"a worker could not set up the task: {content}")
            log.warning("a worker could not set up the task:\n%s", content)
        else:
            assert kind == "bug"
            raise RuntimeError(f"a worker failed outside of an episode:\n{content}")

    # Faults.

    def _overdue(self, worker: Worker, passed: float) -> bool:
        deadline = self.deadline if worker.holder.ready else max(self.deadline, START)
        return worker.holder.overdue(int(self.shared["played"][worker.slot]), passed, deadline)

    def _bury(self, worker: Worker, batch: Batch, hung: bool) -> None:
        """What a dead or hanging worker had not finished goes out again."""
        if hung:
            worker.process.kill()
        reason = reason_of(worker.end(PATIENCE))
        self.workers.remove(worker)
        job, current = batch.job, int(self.shared["current"][worker.slot])
        finished: set[int] = set()
        if job.perturbed or not self.plan.traces:  # else what it played died with its traces
            finished.update(np.flatnonzero(self.shared["status"][: len(job)] != OPEN).tolist())
        failed = batch.ledger.lost(worker.holder, current, None if hung else reason, finished)
        if failed is not None:
            self._fail(failed, reason, job)

    def _fail(self, index: int, reason: str, job: Job) -> None:
        rows = rows_in(self.shared).head(len(job))
        rows.fail(index)
        self.judge.note(f"candidate {index} killed {ATTEMPTS} workers ({reason})")
        if job.perturbed:
            self.judge.bear(int((rows.status == FAILED).sum()), job.whole)

    def _give_up(self) -> None:
        """Workers in the middle of something are killed, so that nothing old comes back."""
        for worker in list(self.workers):
            if worker.holder.units or not worker.holder.ready or worker.connection.closed:
                worker.process.kill()
                worker.end(PATIENCE)
                self.workers.remove(worker)

    def _recruit(self) -> None:
        """A worker for every slot that has none."""
        if len(self.workers) < self.count:
            for slot in sorted(set(range(self.count)) - {worker.slot for worker in self.workers}):
                self.workers.append(self._start(slot))

    def _start(self, slot: int) -> Worker:
        self.shared["current"][slot], self.shared["played"][slot] = -1, 0
        shared = (self.descriptor, self.noise_descriptor)
        return Worker(*spawn(self.setup_descriptor, shared, slot), slot)
