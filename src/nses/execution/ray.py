"""Episodes on the nodes of a Ray cluster, with the same bits as every other backend.

A foreman on each node owns the workers there. This process hands out candidates in a few large
calls and collects rows by candidate. Idle nodes play copies of what others have not finished.
"""

import logging
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from functools import cached_property
from math import ceil
from typing import Any

import cloudpickle
import numpy as np

from nses.core.archive import Archive, empty
from nses.core.noise import SHARE, Epsilon, Table, fill_table
from nses.core.values import Candidates, Evaluation, Floats
from nses.errors import TooManyFailures
from nses.execution.connecting import Connection
from nses.execution.cpus import usable_cpus
from nses.execution.door import Numerics, Trial, checksum
from nses.execution.evaluator import Judge, evaluate_in_parts
from nses.execution.foreman import Answer, Contract
from nses.execution.job import FirstTrace, Job, Rows, earlier, empty_rows, job_of, news
from nses.execution.own_code import own_sources
from nses.execution.pool import DEADLINE
from nses.execution.roster import TICK, Node, Roster
from nses.execution.runner import Plan
from nses.execution.shares import Indices, Shares
from nses.execution.sharing import Sharers, alone
from nses.execution.spawn import unsendable
from nses.execution.versions import PLAYING, code_of, current_versions
from nses.rollouts.episode import Interrupted, never

log = logging.getLogger("nses")

ANSWER = 0.25  # seconds within which a foreman answers
ALONE = 1.0  # the same where no other node waits for what it says: an answer takes 6 ms of CPU time
PRODUCTS = 4e9  # per second that a CPU sums into a gradient
WORTH_SENDING = 0.1  # seconds: sending out a gradient that takes less time costs more than it saves


@dataclass(frozen=True)
class Place:
    """Where a cluster is, and what is asked of it."""

    address: str | None = None  # None: on this machine, for as long as the run
    tolerant: bool = False  # whether nodes with other numerics may play
    sharers: Sharers = alone  # other runs may share its CPUs


ON_THIS_MACHINE = Place()


class Batch:
    """A job on its way around the cluster."""

    def __init__(self, number: int, job: Job, plan: Plan):
        import ray

        self.number, self.job = number, job
        self.reference = ray.put(replace(job, archive=empty(0)))
        self.shares = Shares(len(job))
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
        contract = Contract(
            _sendable(plan), own_sources(), seed, noise_size, self.capacity, deadline
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
        return evaluate_in_parts(job, self.capacity, self._run, self.plan, self.judge)

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
        batch, lost = Batch(self.number, job, self.plan), self.roster.lost
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
        shares, name = batch.shares, node.found.id
        settled = shares.settled_elsewhere(name)
        indices = self._share(node, shares)
        held = shares.count(name)
        if not held:
            return
        alone = len(self.roster.ready) == 1
        low = held // 2 if shares.free else 0 if alone else node.workers - 1
        seconds = ALONE if alone else max(ANSWER, 0.01 * len(self.roster.ready))  # to keep them few
        batch.teach(node)
        deaths = {i: batch.deaths[i] for i in shares.held_of(name, batch.deaths)}
        node.ask("play", batch.number, batch.reference, indices, settled, low, seconds, deaths)

    def _share(self, node: Node, shares: Shares) -> Indices:
        """Half of a fair share, to leave something for late joiners; copies when none is free."""
        name, ready = node.found.id, self.roster.ready
        part = node.workers / sum(other.workers for other in ready)
        if free := shares.free:
            most = free if len(ready) == 1 else max(2 * node.workers, ceil(free * part / 2))
            return shares.take(name, most)
        held = shares.count(name)
        if held >= node.workers:
            return np.empty(0, np.int64)
        most = max(2 * node.workers - held, int(shares.open.sum() * part / 2))
        return shares.copies(name, most)

    def _receive(self, node: Node, answer: Answer, batch: Batch) -> None:
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


def pays(products: int, threads: int, cpus: int) -> bool:
    """Whether other machines with this many CPUs sum a gradient sooner than threads here."""
    here = products / (PRODUCTS * threads)
    return here > WORTH_SENDING and cpus > 2 * threads


def summed_on(helpers: list[Node], epsilon: Epsilon, F: Floats, threads: int) -> Floats:
    """A block of parameters for each node; blocks that do not come back in time are summed here."""
    import ray

    offsets, weights = ray.put(epsilon.offsets), ray.put(F)
    calls = {}
    for node, block in zip(helpers, blocks_of(epsilon.d, helpers), strict=True):
        calls[node.actor.weighted_sum.remote(offsets, weights, block)] = block
    patience = 1.0 + 2 * epsilon.d * epsilon.offsets.size / (PRODUCTS * threads)
    done, _ = ray.wait(list(calls), num_returns=len(calls), timeout=patience)
    g = np.empty(epsilon.d)
    for call, block in calls.items():
        part = _fetched(call) if call in done else None
        if part is None:
            here = replace(epsilon, offsets=epsilon.offsets + block.start, d=len(block))
            part = here.weighted_sum(F, threads)
        g[block.start : block.stop] = part
    return g


def blocks_of(d: int, helpers: list[Node]) -> list[range]:
    """A block of parameters for each, in proportion to its CPUs."""
    ends = np.cumsum([node.workers for node in helpers])
    ends = np.round(ends / ends[-1] * ceil(d / SHARE)).astype(int) * SHARE
    stops = [min(d, int(end)) for end in ends]
    return [range(start, stop) for start, stop in zip([0, *stops], stops, strict=False)]


def _fetched(call: Any) -> Floats | None:
    import ray
    from ray.exceptions import RayError

    try:
        return ray.get(call, timeout=1.0)
    except RayError:  # the next job will find out what became of the node
        return None


def _sendable(plan: Plan) -> bytes:
    try:
        return cloudpickle.dumps(plan)
    except Exception as error:
        raise unsendable(plan, "other machines", error) from error
