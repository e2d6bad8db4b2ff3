"""Episodes on the nodes of a Ray cluster, with the same bits as every other backend.

A foreman on each node owns the workers there. This process hands out candidates in a few large
calls and collects rows by candidate. Idle nodes play copies of what others have not finished.
"""

import logging
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil, inf
from typing import Any

import cloudpickle
import numpy as np

from nses.core.archive import Archive, empty
from nses.core.foresight import Hint
from nses.core.noise import Epsilon, Table, fill_table
from nses.core.values import Candidates, Evaluation, Floats
from nses.errors import TooManyFailures
from nses.execution.clock import Clock
from nses.execution.connecting import Connection
from nses.execution.cpus import usable_cpus
from nses.execution.door import Numerics, Trial, checksum
from nses.execution.evaluator import Judge, evaluate_in_parts
from nses.execution.forecast import Forecast
from nses.execution.foreman import Answer, Contract
from nses.execution.job import FirstTrace, Job, Rows, earlier, empty_rows, job_of, news
from nses.execution.node import Node
from nses.execution.own_code import own_sources
from nses.execution.pool import DEADLINE
from nses.execution.roster import TICK, Roster
from nses.execution.runner import Plan
from nses.execution.shares import NO_INDICES, Indices, Shares
from nses.execution.sharing import Sharers, alone
from nses.execution.spawn import unsendable
from nses.execution.summing import pays, summed_on
from nses.execution.versions import PLAYING, code_of, current_versions
from nses.rollouts.episode import Interrupted, never

log = logging.getLogger("nses")

ANSWER = 0.25  # seconds within which a foreman answers
ALONE = 1.0  # the same where no other node waits for what it says: an answer takes 6 ms of CPU time
TAIL = 1.0  # seconds that others have at least, before idle nodes play what these are playing


@dataclass(frozen=True)
class Place:
    """Where a cluster is, and what is asked of it."""

    address: str | None = None  # None: on this machine, for as long as the run
    tolerant: bool = False  # whether nodes with other numerics may play
    sharers: Sharers = alone  # other runs may share its CPUs
    look_ahead: bool = False  # whether idle nodes play what will probably come next


ON_THIS_MACHINE = Place()


class Batch:
    """A job on its way around the cluster."""

    def __init__(self, number: int, job: Job, plan: Plan, forecast: Forecast):
        import ray

        self.number, self.job = number, job
        self.foreseen = forecast.begins(job)
        self.reference = (  # nodes that have foreseen the job have it already
            forecast.reference if self.foreseen else ray.put(replace(job, archive=empty(0)))
        )
        self.shares = Shares(len(job), forecast.shares if self.foreseen else {})
        self.tail = inf  # when nothing was left to hand out
        self.rows = empty_rows(len(job), plan)
        self.first: FirstTrace | None = None
        self.restarts, self.deaths = 0, Counter[int]()  # by candidate, on all nodes
        self.told: dict[int, list[Any]] = {}  # references to news, by how much was known before

    def teach(self, node: Node) -> None:
        """Sends the node what it does not know of the archive: the same objects to every node."""
        import ray

        archive, known = self.job.archive, node.knows
        start = len(known) if known is not None and archive.extends(known) else -1
        if start not in self.told:
            self.told[start] = [ray.put(entries) for entries in news(archive, known)]
        for reference in self.told[start]:
            node.actor.learn.remote(reference)
        node.knows = archive


class OnRay:
    """An `Evaluate` on a cluster; close it, or use it as a context manager.

    The caller fills `noise` from the same `seed`; every node fills a table of its own.
    """

    def __init__(
        self,
        plan: Plan,
        noise_size: int,
        *,
        seed: int,
        capacity: int,
        workers: int | None = None,
        deadline: float = DEADLINE,
        should_stop: Callable[[], bool] = never,
        place: Place = ON_THIS_MACHINE,
    ):
        self.plan, self.should_stop, self.place = plan, should_stop, place
        self.capacity = max(64, capacity + capacity % 2)
        self.noise: Table = np.empty(noise_size, np.float32)
        fill_table(self.noise, seed)  # callers that need no noise do not fill it
        self.judge, self.number = Judge(), 0
        self.clock, self.busy = Clock(), 0.0  # seconds that all workers have played
        self.foreseen: bool | None = None  # the last job
        ahead = place.look_ahead and place.sharers is alone
        self.forecast = Forecast(self.capacity if ahead else 0)
        contract = Contract(
            _sendable(plan), own_sources(), seed, noise_size, self.capacity, deadline, ahead
        )
        with ExitStack() as stack:
            self.trial = stack.enter_context(closing(Trial(plan, deadline)))  # while Ray starts
            cpus = workers or usable_cpus()
            self.connection = stack.enter_context(closing(Connection(place.address, cpus)))
            self.roster = Roster(
                contract, workers, lambda: self.numerics, place.tolerant, place.sharers
            )
            stack.callback(self.roster.close)
            self.stack = stack.pop_all()

    @cached_property
    def numerics(self) -> Numerics:
        """This machine's numerics, which the nodes must share; known once the table is filled."""
        with closing(self.trial):
            episodes, noise = self.trial.digest(), checksum(self.noise)
            return Numerics(current_versions(), episodes, noise, code_of(PLAYING))

    def __call__(self, candidates: Candidates, archive: Archive) -> Evaluation:
        """The same result as the serial evaluator's, to the bit."""
        job = job_of(candidates, archive)
        self.clock.count(len(job))
        e = evaluate_in_parts(job, self.capacity, self._run, self.plan, self.judge)
        if not job.perturbed or job.enough is not None:
            return e
        idle = self.clock.idle(self.busy, self.roster.playing)
        return replace(e, foreseen=self.foreseen, idle=idle)

    def foresee(self, t: int, hint: Hint) -> None:
        """Lets workers that have nothing to do play ahead."""
        if self.roster.playing > 1 and not self.clock.brief:
            self.forecast.tell(hint)

    def close(self) -> None:
        if self.roster.headless:
            self.connection.forsake()
        self.stack.close()

    def __enter__(self) -> "OnRay":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # One job: hand out, collect.

    def _run(self, job: Job) -> tuple[Rows, int]:
        self.number += 1
        batch, lost = Batch(self.number, job, self.plan, self.forecast), self.roster.lost
        self.foreseen = batch.foreseen
        self.forecast.begun(batch.foreseen)
        self.play(batch)
        restarts = batch.restarts + self.roster.lost - lost
        return replace(batch.rows, first=batch.first), restarts

    def play(self, batch: Batch) -> None:
        """Hands out and collects until every candidate has a result."""
        while batch.shares.open.any():
            self.roster.refresh()
            batch.shares.keep(self.roster.nodes)
            for node in self.roster.idle:
                self._hand_out(node, batch)
            for node, answer in self.roster.answers(TICK):
                self._receive(node, answer, batch)
            if self.should_stop():
                raise Interrupted

    def _hand_out(self, node: Node, batch: Batch) -> None:
        shares, name, ready = batch.shares, node.found.id, self.roster.ready
        settled = shares.settled_elsewhere(name)
        indices = self._share(node, batch)
        next_job, share = None, NO_INDICES
        if not shares.free:
            next_job, share = self.forecast.offer(node, ready)
        held = shares.count(name)
        if not (held or len(settled) or next_job is not None):
            return
        alone = len(ready) == 1
        low = held // 2 if shares.free else 0 if alone else node.workers - 1
        seconds = ALONE if alone else max(ANSWER, 0.01 * len(ready))  # to keep them few
        batch.teach(node)
        deaths = {i: batch.deaths[i] for i in shares.held_of(name, batch.deaths)}
        node.ask(
            "play", batch.number, batch.reference, indices, settled, low, seconds, deaths,
            next_job, share,
        )  # fmt: skip

    def _share(self, node: Node, batch: Batch) -> Indices:
        """Half of a fair share, to leave something for late joiners; copies when none is free."""
        shares, name, ready = batch.shares, node.found.id, self.roster.ready
        part = node.workers / self.roster.playing
        if free := shares.free:
            most = free if len(ready) == 1 else max(2 * node.workers, ceil(free * part / 2))
            return shares.take(name, most)
        held = shares.count(name)
        if held >= node.workers or not self._long_tail(batch):
            return NO_INDICES
        most = max(2 * node.workers - held, int(shares.open.sum() * part / 2))
        return shares.copies(name, most)

    def _long_tail(self, batch: Batch) -> bool:
        """Whether to play what others are playing: not while there is something better to do, and
        they have had no more time than usual."""
        batch.tail = min(batch.tail, now := time.monotonic())
        usual = max(TAIL, 2 * self.clock.episode)
        return not self.forecast.promising or now - batch.tail > usual

    def _receive(self, node: Node, answer: Answer, batch: Batch) -> None:
        self.busy, node.busy = self.busy + answer.busy - node.busy, answer.busy
        for text in answer.said:
            log.warning("node %s: %s", node.found.name, text)
        if answer.unfit:
            self.roster.leave_out(node, answer.unfit)
            return
        if answer.number != batch.number:  # copies for a job that is over
            return
        if answer.fatal:
            raise TooManyFailures(f"{answer.fatal}, on node {node.found.name}")
        parcel = answer.parcel
        new = batch.shares.accept(node.found.id, parcel.indices)
        wrong = parcel.contradiction(batch.rows, ~new)
        if wrong is not None and not self.place.tolerant:
            raise TooManyFailures(
                f"node {node.found.name} got a different result for candidate {wrong} than the "
                "node that played it before. Either episodes depend on more than their seed ('nses "
                "check' looks for that), or one of the machines cannot be trusted; "
                "--allow-other-numerics keeps the first result"
            )
        parcel.write(batch.rows, new)
        if parcel.first is not None and parcel.first[0] in parcel.indices[new]:
            batch.first = earlier(batch.first, parcel.first)
        batch.restarts += answer.heard.restarts
        batch.deaths.update(answer.heard.deaths)
        self.judge.hear(answer.heard, batch.job, batch.rows)

    # The gradient.

    def weighted_sum(self, epsilon: Epsilon, F: Floats, threads: int) -> Floats:
        """Sums on the nodes if that is faster than here; the bits do not depend on where."""
        helpers = [node for node in self.roster.idle if node.exact and not node.found.here]
        cpus = sum(node.workers for node in helpers)
        if not pays(epsilon.d * epsilon.offsets.size, threads, cpus):
            return epsilon.weighted_sum(F, threads)
        return summed_on(helpers, epsilon, F, threads)


def _sendable(plan: Plan) -> bytes:
    try:
        return cloudpickle.dumps(plan)
    except Exception as error:
        raise unsendable(plan, "other machines", error) from error
