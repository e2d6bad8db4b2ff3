"""Worker processes on one machine, which live for a whole run and may die at any time.

A job is written to shared memory once. Its candidates are handed out in small units, and the
workers write their results to shared memory, by candidate. A worker that dies or hangs is replaced,
and what it had not finished is handed out again.
"""

import os
import time
from collections.abc import Callable, Iterable
from math import inf
from multiprocessing.connection import wait

from nses.core.noise import Table
from nses.execution.batch import Batch, Settled, Worker
from nses.execution.cpus import usable_cpus
from nses.execution.foresight import Foresight, split
from nses.execution.job import NOTHING, OPEN, Job, Memory, Rows, earlier, memory_fields, news
from nses.execution.ledger import ATTEMPTS
from nses.execution.places import Places, noise_fields, progress_fields
from nses.execution.runner import Plan
from nses.execution.shared import anonymous_file, map_arrays, size_of
from nses.execution.spawn import PATIENCE, packed, reason_of, spawn, starting
from nses.rollouts.episode import Interrupted, never

IN_FLIGHT = 2  # units per worker, so that none waits for the coordinator
TICK = 0.2  # seconds between looks at deadlines and interruptions
CLOSING = 2.0  # seconds for all workers together to close their environments
DEADLINE = 300.0  # seconds per episode
START = 60.0  # seconds that a worker may always take to start, however short the deadline


class Pool:
    """Owns worker processes and the memory they share.

    `noise` is a table of `noise_size` numbers; the caller fills it before the first job. With two
    `slots`, a job may begin while workers are still playing the one before. There are `at_first`
    workers (if not given: all), and `count` may grow to the number of `workers`. Where it may
    `look_ahead`, workers without anything to do play what `foresight` is told.
    """

    def __init__(
        self,
        plan: Plan,
        noise_size: int,
        *,
        capacity: int,
        workers: int | None = None,
        at_first: int | None = None,
        deadline: float = DEADLINE,
        should_stop: Callable[[], bool] = never,
        slots: int = 1,
        look_ahead: bool = False,
    ):
        self.plan, self.deadline, self.should_stop = plan, deadline, should_stop
        self.capacity = max(64, capacity + capacity % 2)
        self.most = workers or usable_cpus()
        self.count = self.most if at_first is None else at_first
        fields = memory_fields(
            plan.policy.size, self.capacity, plan.moments_size, plan.behavior_size
        )
        places = slots + look_ahead
        layouts = [*[fields] * places, progress_fields(self.most), noise_fields(noise_size)]
        setup = packed((plan, layouts))
        with starting():
            self.setup_descriptor = anonymous_file(len(setup), setup)
            self.descriptors = [anonymous_file(size_of(layout)) for layout in layouts]
            *jobs, progress, noise = map(map_arrays, self.descriptors, layouts)
        self.places = Places(jobs)
        self.foresight = Foresight(self.places, progress, self.capacity if look_ahead else 0)
        self.progress: Memory = progress
        self.noise: Table = noise["table"]
        self.batch = Batch(0, NOTHING, jobs[0])
        self.sound, self.closed = True, False  # sound: the last exchange ended normally
        self.looked = time.monotonic()
        self.workers: list[Worker] = []
        try:
            self._recruit()
        except BaseException:
            self.close()
            raise

    def begin(self, job: Job) -> None:
        """Makes this the current job; nothing more comes back from older ones."""
        if not self.sound:
            self._give_up()  # again, because a second Ctrl-C may have interrupted it
        right = self.foresight.begins(job)
        number = self.foresight.number if right else self._publish(job)
        place = self.places.memories[self.places.of(number)]
        self.batch = Batch(number, job, place, right)
        self.progress["number"][0] = number  # first, so that those who look ahead stop
        self.progress["turn"][0] += 1
        if right:
            self.batch.keepers = self.foresight.keepers(len(job), self.workers)
        self.foresight.begun(right)
        for worker in self.workers:
            worker.holder.units.clear()
            worker.holder.reserved.clear()
        self.looked = time.monotonic()

    def _publish(self, job: Job) -> int:
        """Writes a job to memory; workers that still play what was there are ended."""
        # Not after a wrong guess: they will notice, and there are deadlines.
        ahead = {n for w in self.workers if w.holder.ahead for n in w.asked}
        place = self.places.vacant(self.foresight.number, {self.batch.number, *ahead})
        for worker in list(self.workers):
            if self.places.numbers[place] in worker.asked:
                self._end(worker)
        return self.places.publish(job, place)

    @property
    def rows(self) -> Rows:
        """The results of the current job, as views of shared memory."""
        return self.batch.rows

    @property
    def left(self) -> int:
        """How many candidates are still to be played."""
        return len(self.batch.ledger.open)

    def exchange(self, units: Iterable[range] = (), low: int = 0, seconds: float = inf) -> Settled:
        """Takes more units to play, and says what has been settled since the last call.

        Returns once something has been settled and at most `low` candidates are left, at once after
        a failure that may end the run, and in any case after `seconds`.
        """
        batch, end = self.batch, time.monotonic() + seconds
        self._add(list(units), batch)
        self.sound = False
        try:
            while batch.ledger.open and time.monotonic() < end:
                self._attend(batch, end)
                if batch.cannot_wait or (batch.indices and len(batch.ledger.open) <= low):
                    break
            if self.foresight.hunch.held is not None:  # we have other things to do now
                self._hear(batch, 0.0)
            self.foresight.employ(self.workers, batch)
        except BaseException:
            self._give_up()
            raise
        self.sound = True
        return batch.settled()

    def close(self) -> None:
        """Ends the workers: closes their connections, and kills those that do not leave in time."""
        if self.closed:
            return
        self.progress["number"][0] = self.progress["foreseen"][0] = 0  # what is under way is over
        for worker in self.workers:
            worker.connection.close()
        end = time.monotonic() + CLOSING
        for worker in self.workers:
            worker.end(max(0.0, end - time.monotonic()))
        self.workers, self.closed = [], True
        for descriptor in (self.setup_descriptor, *self.descriptors):
            os.close(descriptor)

    # Hand out, collect.

    def _add(self, units: list[range], batch: Batch) -> None:
        """Units to play; what a worker has played before it was asked is reserved for it."""
        if units or self.foresight.hunch.held is not None:
            self.progress["turn"][0] += 1
        if batch.keepers is None:
            batch.ledger.add(units)
            return
        holders = {worker.slot: worker.holder for worker in self.workers}
        for slot, unit in split(units, batch.keepers):
            if slot in holders:
                batch.ledger.reserve(holders[slot], unit)
            else:
                batch.ledger.add([unit])

    def _attend(self, batch: Batch, end: float) -> None:
        """Gives every worker something to do, then deals with whatever happens next."""
        self._recruit()
        for room in range(1, IN_FLIGHT + 1):  # one unit for each before a second for any
            for worker in self.workers:
                self._hand_out(worker, batch, room)
        self.foresight.employ(self.workers, batch)
        self._hear(batch, max(0.0, min(TICK, end - time.monotonic())))
        if self.should_stop():
            raise Interrupted
        passed = time.monotonic() - self.looked
        if passed >= TICK:
            self.looked += passed
            self._look_after(batch, passed)

    def _hear(self, batch: Batch, seconds: float) -> None:
        """Waits so long for workers that say something, or that have died."""
        for connection in wait([w.connection for w in self.workers], seconds):
            worker = next(w for w in self.workers if w.connection is connection)
            try:
                self._receive(worker, batch)
            except (EOFError, OSError):
                self._bury(worker, batch, hung=False)

    def _hand_out(self, worker: Worker, batch: Batch, room: int) -> None:
        holder = worker.holder
        if not worker.listens or len(holder.units) >= room or worker.late(batch.number):
            return
        # Taken before it is sent: if sending fails, the worker is buried and its units come back.
        unit = batch.ledger.take(holder)
        if unit is None:
            return
        worker.asked.append(batch.number)
        try:
            for entries in news(batch.job.archive, worker.knows):
                worker.connection.send(("archive", entries))
            worker.knows = batch.job.archive
            worker.connection.send(("unit", batch.number, self.places.of(batch.number), unit))
        except OSError:  # dead or not listening: the next wait notices, and its units come back
            worker.process.kill()

    def _receive(self, worker: Worker, batch: Batch) -> None:
        kind, *content = worker.connection.recv()
        holder = worker.holder
        holder.silent = 0.0
        if kind == "ready":
            holder.ready = True
        elif kind == "left":  # it left a job that was over
            worker.asked.popleft()
        elif kind == "back":  # from looking ahead
            worker.asked.popleft()
            holder.ahead = False
            self.foresight.back(worker.slot, *content)
        elif kind == "done":
            number, errors, first = content
            worker.asked.popleft()
            if number != batch.number:
                return
            batch.indices += batch.ledger.accept(holder, holder.units[0])
            batch.first = earlier(batch.first, first)
            batch.errors += errors
        elif kind == "broken":
            batch.broken += content
        else:
            assert kind == "bug"
            raise RuntimeError(f"a worker failed outside of an episode:\n{content[0]}")

    # Faults.

    def _look_after(self, batch: Batch, passed: float) -> None:
        for worker in list(self.workers):
            if self._overdue(worker, passed):
                self._bury(worker, batch, hung=True)
            elif worker.process.poll() is not None and not worker.connection.poll():
                # A process that it started keeps its connection open.
                self._bury(worker, batch, hung=False)

    def _overdue(self, worker: Worker, passed: float) -> bool:
        deadline = self.deadline if worker.holder.ready else max(self.deadline, START)
        return worker.holder.overdue(int(self.progress["played"][worker.slot]), passed, deadline)

    def _bury(self, worker: Worker, batch: Batch, hung: bool) -> None:
        """Removes a dead or hanging worker; what it had not finished is handed out again."""
        if hung:
            worker.process.kill()
        reason = reason_of(worker.end(PATIENCE))
        self.workers.remove(worker)
        if worker.holder.ahead:  # whatever it was, it is not tried again unless it must be
            self.foresight.shares.pop(worker.slot, None)
        self.progress["turn"][0] += 1  # somebody may have to take over
        of_this_job = self.progress["job"][worker.slot] == batch.number
        playing = int(self.progress["current"][worker.slot]) if of_this_job else -1
        finished: set[int] = set()
        if batch.job.perturbed or not self.plan.traces:  # else its results died with their traces
            held = (i for unit in worker.holder.units for i in unit)
            finished.update(i for i in held if batch.rows.status[i] != OPEN)
        batch.indices += [i for i in sorted(finished) if i in batch.ledger.open]
        failed = batch.ledger.lost(worker.holder, playing, None if hung else reason, finished)
        if failed is not None:
            batch.rows.fail(failed)
            batch.indices.append(failed)
            batch.errors.append(f"candidate {failed} killed {ATTEMPTS} workers ({reason})")
            batch.killers += 1

    def _give_up(self) -> None:
        """Kills the workers that are in the middle of something, so that nothing old comes back."""
        for worker in list(self.workers):
            busy = worker.holder.units or worker.asked
            if busy or not worker.holder.ready or worker.connection.closed:
                self._end(worker)

    def _end(self, worker: Worker) -> None:
        worker.process.kill()
        worker.end(PATIENCE)
        self.workers.remove(worker)

    def _recruit(self) -> None:
        """Starts a worker in every slot that has none."""
        if len(self.workers) < self.count:
            for slot in sorted(set(range(self.count)) - {worker.slot for worker in self.workers}):
                self.workers.append(self._start(slot))

    def _start(self, slot: int) -> Worker:
        self.progress["current"][slot] = -1
        self.progress["played"][slot] = self.progress["ahead"][slot] = 0
        return Worker(*spawn(self.setup_descriptor, tuple(self.descriptors), slot), slot)
