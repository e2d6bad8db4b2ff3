"""Episodes in worker processes that live for the whole run and may die at any time.

The coordinator writes theta, seeds and noise offsets into shared memory once per generation, hands out
small units of candidates, and finds the results in shared memory, by candidate. A worker that dies
or hangs is replaced, and what it had not finished is handed out again.
"""

import logging
import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Callable
from multiprocessing.connection import Connection, wait

import cloudpickle
import numpy as np

from nses.core.archive import Archive
from nses.core.noise import Epsilon, Table
from nses.core.values import Candidates, Evaluation
from nses.execution.cpus import ONE_THREAD, usable_cpus
from nses.execution.evaluator import (
    FAILED,
    OPEN,
    Interrupted,
    Judge,
    Plan,
    TaskBroken,
    TooManyFailures,
    evaluation,
    result_fields,
)
from nses.execution.shared import Field, anonymous_file, map_arrays, size_of

log = logging.getLogger("nses")

UNIT = 8  # candidates, at most
IN_FLIGHT = 2  # units per worker, so that none waits for the coordinator
ATTEMPTS = 3
TICK = 0.2  # seconds between looks at deadlines and interruptions
DEADLINE = 300.0  # seconds per episode


def noise_fields(size: int) -> list[Field]:
    return [("table", "f4", (size,))]


def batch_fields(d: int, capacity: int, observations: int, workers: int) -> list[Field]:
    """What the coordinator tells (one batch of candidates) and what each worker is at."""
    return [
        ("theta", "f4", (d,)),
        ("moments", "f8", (1 + 2 * observations,)),
        ("seeds", "i8", (capacity,)),
        ("offsets", "i8", (capacity,)),
        ("contributes", "u1", (capacity,)),
        ("sigma", "f8", (1,)),
        ("current", "i8", (workers,)),  # the candidate that a worker plays, -1 when idle
        ("played", "i8", (workers,)),  # episodes started, which shows a deadline's progress
    ]


class Worker:
    """One process, its connection, and what it was given."""

    def __init__(self, process: subprocess.Popen[bytes], connection: Connection, slot: int):
        self.process, self.connection, self.slot = process, connection, slot
        self.ready = False
        self.units: deque[range] = deque()
        self.knows: Archive | None = None
        self.played = -1
        self.since = time.monotonic()


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
        should_stop: Callable[[], bool] = lambda: False,
    ):
        self.plan, self.deadline, self.should_stop = plan, deadline, should_stop
        self.capacity = max(64, capacity + capacity % 2)
        self.observations = plan.policy.observation_size
        self.judge = Judge()
        self.batch = 0
        count = workers or usable_cpus()
        self.fields = batch_fields(
            plan.policy.size, self.capacity, self.observations, count
        ) + result_fields(self.capacity, self.observations, plan.task.behavior_size)
        self.descriptor = anonymous_file(size_of(self.fields))
        self.shared = map_arrays(self.descriptor, self.fields)
        self.noise_descriptor = anonymous_file(size_of(noise_fields(noise_size)))
        self.noise: Table = map_arrays(self.noise_descriptor, noise_fields(noise_size))["table"]
        # The path goes first: the plan may name modules that only it finds.
        self.setup = pickle.dumps((sys.path, cloudpickle.dumps((plan, self.fields, noise_fields(noise_size)))))
        self.workers = [self._start(slot) for slot in range(count)]

    def __call__(self, candidates: Candidates, archive: Archive) -> Evaluation:
        """As the serial evaluator, to the bit."""
        n = len(candidates)
        if n <= self.capacity:
            restarts = self._run(candidates, archive)
            return evaluation(candidates, self.shared, self.observations, restarts, self.judge)
        results = {
            name: np.zeros(shape, dtype)
            for name, dtype, shape in result_fields(
                n, self.observations, self.plan.task.behavior_size
            )
        }
        restarts = 0
        for start in range(0, n, self.capacity):
            part = slice(start, min(n, start + self.capacity))
            restarts += self._run(_part(candidates, part), archive)
            for name, rows in results.items():
                rows[part] = self.shared[name][: part.stop - start]
        return evaluation(candidates, results, self.observations, restarts, self.judge)

    def close(self) -> None:
        """Ends the workers: their connection closes, and who does not listen is killed."""
        for worker in self.workers:
            worker.connection.close()
        end = time.monotonic() + 2.0
        for worker in self.workers:
            try:
                worker.process.wait(max(0.0, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                worker.process.kill()
                worker.process.wait()
        self.workers = []
        self.shared = {}
        os.close(self.descriptor)
        os.close(self.noise_descriptor)

    def __enter__(self) -> "Processes":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # One batch: publish, hand out, collect.

    def _run(self, candidates: Candidates, archive: Archive) -> int:
        """Fills the shared results; returns how many workers had to be replaced."""
        self._publish(candidates)
        try:
            return self._collect(candidates, archive)
        except BaseException:
            self._give_up()
            raise

    def _collect(self, candidates: Candidates, archive: Archive) -> int:
        n, unit = len(candidates), max(2, min(UNIT, len(candidates) // 32 * 2))
        pending = deque(range(i, min(n, i + unit)) for i in range(0, n, unit))
        deaths: Counter[int] = Counter()
        restarts = 0
        while pending or any(worker.units for worker in self.workers):
            for worker in self.workers:
                self._hand_out(worker, pending, candidates, archive)
            for connection in wait([w.connection for w in self.workers], TICK):
                worker = next(w for w in self.workers if w.connection is connection)
                try:
                    self._receive(worker)
                except (EOFError, OSError):
                    restarts += 1
                    self._replace(worker, pending, deaths, hung=False)
            if self.should_stop():
                raise Interrupted
            for worker in list(self.workers):
                if self._overdue(worker):
                    restarts += 1
                    self._replace(worker, pending, deaths, hung=True)
        return restarts

    def _publish(self, candidates: Candidates) -> None:
        n, shared, moments = len(candidates), self.shared, candidates.moments
        self.batch += 1
        shared["theta"][:] = candidates.theta
        shared["moments"][:] = np.concatenate([[moments.count], moments.sum, moments.square])
        shared["seeds"][:n] = candidates.seeds
        shared["contributes"][:n] = 0 if candidates.contributes is None else candidates.contributes
        shared["sigma"][0] = candidates.sigma
        shared["status"][:n] = OPEN
        if candidates.epsilon is not None:
            shared["offsets"][: n // 2] = candidates.epsilon.offsets

    def _hand_out(
        self, worker: Worker, pending: deque[range], candidates: Candidates, archive: Archive
    ) -> None:
        if not worker.ready:
            return
        try:
            while pending and len(worker.units) < IN_FLIGHT:
                self._teach(worker, archive)
                unit = pending.popleft()
                worker.units.append(unit)
                perturbed = candidates.epsilon is not None
                worker.connection.send(("unit", self.batch, perturbed, unit))
        except OSError:
            pass  # it died: its connection says so in the next wait, and its units come back

    def _teach(self, worker: Worker, archive: Archive) -> None:
        """What the worker does not know of the archive yet."""
        known = worker.knows
        if known is not None and archive.extends(known):
            if len(archive) > len(known):
                worker.connection.send(("archive", len(known), archive.rows[len(known) :]))
        else:
            worker.connection.send(("archive", 0, archive.rows))
        worker.knows = archive

    def _receive(self, worker: Worker) -> None:
        kind, content = worker.connection.recv()
        if kind == "ready":
            worker.ready = True
        elif kind == "broken":
            raise TaskBroken(f"a worker could not set up the task: {content}")
        elif kind == "done":
            worker.units.popleft()
            for error in content:
                self.judge.note(error)
        elif kind == "bug":
            raise RuntimeError(f"a worker failed outside of an episode:\n{content}")
        else:
            assert kind == "memory"
            log.warning("worker %d is out of memory: %s", worker.process.pid, content)
        worker.since = time.monotonic()

    # Faults.

    def _overdue(self, worker: Worker) -> bool:
        played = int(self.shared["played"][worker.slot])
        if played != worker.played or (worker.ready and not worker.units):
            worker.played, worker.since = played, time.monotonic()
        return time.monotonic() - worker.since > self.deadline

    def _replace(
        self, worker: Worker, pending: deque[range], deaths: Counter[int], hung: bool
    ) -> None:
        """A new worker for a dead or hanging one; its unfinished candidates go first."""
        if hung:
            worker.process.kill()
        code = worker.process.wait()
        worker.connection.close()
        current = int(self.shared["current"][worker.slot])
        blamed = current if any(current in unit for unit in worker.units) else None
        deaths[-1 if blamed is None else blamed] += 1
        what = f"candidate {current}" if blamed is not None else "no candidate in hand"
        if hung:
            log.warning(
                "worker %d took longer than %g s for %s and was killed; trying again.",
                worker.process.pid, self.deadline, what,
            )  # fmt: skip
        else:
            log.warning(
                "worker %d died (%s) with %s; starting another.",
                worker.process.pid, _reason(code), what,
            )  # fmt: skip
        exhausted = deaths[-1 if blamed is None else blamed] >= ATTEMPTS
        if exhausted and (hung or blamed is None):
            raise TooManyFailures(
                f"{what} took longer than {self.deadline:g} s {ATTEMPTS} times"
                if hung
                else f"workers died {ATTEMPTS} times without a candidate ({_reason(code)})"
            )
        for unit in reversed(worker.units):
            again = [i for i in unit if self.shared["status"][i] == OPEN]
            if blamed in again:
                again.remove(blamed)
                if exhausted:
                    self._fail(blamed, code)
                else:  # alone, so that a second death costs nothing else
                    pending.appendleft(range(blamed, blamed + 1))
            pending.extendleft(range(i, i + 1) for i in reversed(again))
        self.workers[self.workers.index(worker)] = self._start(worker.slot)

    def _fail(self, index: int, code: int) -> None:
        self.shared["f"][index], self.shared["N"][index] = np.nan, 0.0
        self.shared["lengths"][index], self.shared["b"][index] = 0, np.nan
        self.shared["status"][index] = FAILED
        self.judge.note(f"candidate {index} killed {ATTEMPTS} workers ({_reason(code)})")

    def _give_up(self) -> None:
        """Workers in the middle of something make way for new ones, so that nothing old comes back."""
        for slot, worker in enumerate(self.workers):
            if worker.units:
                worker.process.kill()
                worker.process.wait()
                worker.connection.close()
                self.workers[slot] = self._start(slot)

    def _start(self, slot: int) -> Worker:
        ours, theirs = socket.socketpair()
        self.shared["current"][slot], self.shared["played"][slot] = -1, 0
        descriptors = (theirs.fileno(), self.descriptor, self.noise_descriptor)
        main_thread = threading.current_thread() is threading.main_thread()
        process = subprocess.Popen(
            [sys.executable, "-m", "nses.execution.worker"]
            + [str(x) for x in (*descriptors, slot, os.getpid(), int(main_thread))],
            pass_fds=descriptors,
            stdin=subprocess.DEVNULL,
            env={**os.environ, **ONE_THREAD},
        )
        theirs.close()
        connection = Connection(ours.detach())
        try:
            connection.send_bytes(self.setup)
        except OSError:
            pass  # it died at once: its connection says so in the next wait
        return Worker(process, connection, slot)


def _part(candidates: Candidates, part: slice) -> Candidates:
    """Some of the candidates, from an even index to an even one."""
    epsilon, contributes = candidates.epsilon, candidates.contributes
    if epsilon is not None:
        offsets = epsilon.offsets[part.start // 2 : part.stop // 2]
        epsilon = Epsilon(epsilon.table, offsets, epsilon.d)
    return Candidates(
        candidates.theta,
        candidates.moments,
        candidates.seeds[part],
        candidates.sigma,
        epsilon,
        None if contributes is None else contributes[part],
    )


def _reason(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
    return f"{name}, often the kernel out of memory" if name == "SIGKILL" else name
