"""Generations on many CPUs, event by event: who plays, who waits, and for what.

A coordinator for each run hands out units of episodes to nodes in few calls, as large as half of an
even share. A node keeps a short queue and asks for more before it runs dry. When all results of a
generation are in, the coordinator sums the gradient and has the new member evaluated.
"""

import heapq
from collections import Counter, defaultdict, deque
from collections.abc import Callable
from typing import Any

import numpy as np

from nses.core.seeding import Purpose, generator
from nses.experiment.analysis.machines import (
    CHECKPOINTS,
    PLAIN,
    ROW,
    Cluster,
    Outcome,
    Tricks,
    Work,
)
from nses.experiment.analysis.simulated import Batch, Node, Run

WARM_UP = 2  # generations before the first that counts


class Simulation:
    def __init__(self, work: Work, cluster: Cluster, runs: int, tricks: Tricks, seed: int):
        self.work, self.cluster, self.tricks, self.seed = work, cluster, tricks, seed
        self.costs = cluster.costs
        self.nodes = [Node(cpus) for cpus in cluster.sizes]
        self.runs = [Run(i) for i in range(runs)]
        self.now, self.link, self.serial, self.idle = 0.0, 0.0, 0, cluster.cpus
        self.events: list[tuple[float, int, Callable[..., None], Any]] = []
        for run in self.runs:
            self.at(0.0, self.begin, run)
        self.forget()

    def forget(self) -> None:
        """From now on it counts."""
        self.since, self.before = self.now, sum(len(run.ends) for run in self.runs)
        self.lost: defaultdict[str, float] = defaultdict(float)  # CPU seconds, by cause
        self.bytes = self.calls = 0

    def play(self, generations: int) -> None:
        """Until every run has come so far."""
        while any(len(run.ends) < generations for run in self.runs):
            time, _, act, arguments = heapq.heappop(self.events)
            if self.idle and time > self.now:
                for run in self.runs:
                    self.lost[run.phase] += self.idle * (time - self.now) / len(self.runs)
            self.now = time
            act(*arguments)

    def at(self, time: float, act: Callable[..., None], *arguments: Any) -> None:
        self.serial += 1  # events of the same moment happen in order
        heapq.heappush(self.events, (time, self.serial, act, arguments))

    # A generation: candidates, gradient, evaluation, bookkeeping.

    def begin(self, run: Run) -> None:
        run.phase, run.assessments = "handing out", 0
        run.current = run.ahead or self.candidates(run, len(run.ends))
        run.ahead = None
        if run.current.open:
            self.spread(run)
        else:
            self.complete(run)

    def candidates(self, run: Run, t: int) -> Batch:
        units = self.units(generator(self.seed, t, run.number, Purpose.EPISODE), self.work.n)
        return Batch(run, units, self.work.job_bytes(self.work.n), urgent=False)

    def units(self, random: np.random.Generator, episodes: int, slower: float = 1) -> list[float]:
        """Seconds drawn from those measured, summed by unit."""
        seconds = slower * random.choice(self.work.seconds, episodes)
        return np.add.reduceat(seconds, np.arange(0, episodes, self.tricks.unit)).tolist()

    def complete(self, run: Run) -> None:
        """All results of the current batch are in."""
        work = self.work
        if run.phase != "evaluation":
            run.phase = "gradient"
            self.later(run, self.gradient_seconds() + work.update, self.evaluate)
        elif run.assessments < work.assessments:
            self.evaluate(run)
        else:
            run.phase = "bookkeeping"
            due = self.now >= run.saved + CHECKPOINTS
            run.saved = self.now if due else run.saved
            self.later(run, work.logs + (work.checkpoint if due else 0.0), self.end)

    def later(self, run: Run, seconds: float, act: Callable[[Run], None]) -> None:
        """When the coordinator has spent some seconds."""
        run.free = max(run.free, self.now) + seconds
        self.at(run.free, act, run)

    def gradient_seconds(self) -> float:
        """On the coordinator, or on the nodes where that is faster."""
        alone, nodes = self.work.gradient, len(self.nodes)
        if not self.tricks.gradient_on_nodes:
            return alone
        volume = nodes * 8 * self.work.n + 8 * self.work.parameters  # F to all, g in blocks
        talk = nodes * self.costs.call + 2 * self.costs.latency + volume / self.costs.bandwidth
        if talk + alone / nodes >= alone:
            return alone
        self.bytes += volume
        self.calls += nodes
        return talk + alone / nodes

    def evaluate(self, run: Run) -> None:
        run.phase = "evaluation"
        run.assessments += 1
        work, index = self.work, run.number * self.work.assessments + run.assessments
        random = generator(self.seed, len(run.ends), index, Purpose.EVALUATION)
        units = self.units(random, work.evaluation_episodes, work.slower)
        run.current = Batch(run, units, work.job_bytes(work.evaluation_episodes), urgent=True)
        if self.tricks.foresight and run.ahead is None:
            run.ahead = self.candidates(run, len(run.ends) + 1)
        self.spread(run)

    def foresee(self, run: Run) -> None:
        """In the tail: only the parameters of members that are not being updated are known.

        All members have their turn equally often.
        """
        t = len(run.ends)
        if t % self.work.members:
            run.ahead = self.candidates(run, t + 1)
            self.spread(run)

    def end(self, run: Run) -> None:
        run.ends.append(self.now)
        wrong = round(1 / (1 - self.tricks.foresight)) if 0 < self.tricks.foresight < 1 else 0
        if run.ahead and wrong and len(run.ends) % wrong == 0:
            self.drop(run.ahead)
            run.ahead = None
        self.begin(run)

    def drop(self, batch: Batch) -> None:
        """A wrong guess: what is being played comes to its end for nothing."""
        batch.seconds.clear()
        batch.dropped = True
        self.lost["wrong guesses"] += batch.played
        for node in self.nodes:
            kept = deque(item for item in node.queue if item[0] is not batch)
            batch.run.held -= len(node.queue) - len(kept)
            node.queue = kept

    # Messages between a coordinator and a node.

    def spread(self, run: Run) -> None:
        """A new batch: the coordinator calls every node that can use it."""
        for node in self.nodes:
            if run not in node.calls and self.wants(node, run):
                self.call(node, run, 0.0)

    def ask(self, node: Node) -> None:
        """A node that will soon run dry asks the run that is furthest behind."""
        if node.asking or len(node.queue) > node.low:
            return
        ready = [run for run in self.runs if run not in node.calls and run.batches()]
        if ready:
            node.asking = True
            behind = min(ready, key=lambda run: (len(run.ends), run.held))
            self.call(node, behind, self.costs.latency)

    def call(self, node: Node, run: Run, delay: float) -> None:
        node.calls.add(run)
        rows = node.finished.pop(run, Counter())
        volume = ROW * self.tricks.unit * rows.total()
        self.bytes += volume
        self.calls += 1
        run.free = max(run.free, self.now + delay) + self.costs.call
        self.at(run.free, self.serve, node, run, rows)

    def serve(self, node: Node, run: Run, rows: Counter[Batch]) -> None:
        """The coordinator takes results and gives units."""
        for batch, units in rows.items():
            batch.open -= units
            if not batch.open and batch is run.current:
                self.complete(run)
        if self.wants(node, run):
            self.give(node, run.batches()[0])
        else:
            self.returned(node, run)

    def wants(self, node: Node, run: Run) -> bool:
        """Whether the node will soon run dry, or the run has something that overtakes all else."""
        batches = run.batches()
        return bool(batches) and (batches[0].urgent or len(node.queue) <= node.low)

    def give(self, node: Node, batch: Batch) -> None:
        """Half of an even share, or what the node needs at once; the job goes with the first.

        What is urgent goes out in whole shares.
        """
        half = -(-batch.pending // (2 * len(self.nodes)))
        share = -(-batch.size // len(self.nodes)) if batch.urgent else half
        wanted = max(node.idle, node.low, share)
        cut = max(0, batch.pending - wanted)
        units = batch.seconds[cut:]
        del batch.seconds[cut:]
        batch.run.held += len(units)
        arrival = self.now + self.costs.latency
        if node not in batch.there:
            batch.there.add(node)
            self.bytes += batch.job_bytes
            self.link = max(self.link, self.now) + batch.job_bytes / self.costs.bandwidth
            arrival = self.link + self.costs.latency
        self.at(arrival, self.deliver, node, batch, units)
        if not batch.pending:
            self.exhausted(batch)

    def exhausted(self, batch: Batch) -> None:
        """Everything is handed out: from now on, nodes tell of results as they come."""
        run = batch.run
        if batch is run.current and not batch.urgent:
            run.phase = "tail"
            if self.tricks.foresight and self.tricks.early:
                self.foresee(run)
        for node in self.nodes:
            self.report(node, run)

    def deliver(self, node: Node, batch: Batch, units: list[float]) -> None:
        if batch.dropped:
            batch.run.held -= len(units)
        elif batch.urgent:
            node.queue.extendleft((batch, seconds) for seconds in units)
        else:
            node.queue.extend((batch, seconds) for seconds in units)
        while node.idle and node.queue:
            self.idle -= 1
            node.idle -= 1
            self.start(node)
        self.returned(node, batch.run)

    def returned(self, node: Node, run: Run) -> None:
        node.calls.discard(run)
        node.asking = False
        self.report(node, run)
        self.ask(node)

    def report(self, node: Node, run: Run) -> None:
        """Results of what is handed out for good: nobody will ask for them, so they go out."""
        told = node.finished.get(run)
        if told and run not in node.calls and any(not batch.pending for batch in told):
            self.call(node, run, self.costs.latency)

    def start(self, node: Node) -> None:
        batch, seconds = node.queue.popleft()
        batch.played += seconds
        self.at(self.now + seconds, self.finish, node, batch)

    def finish(self, node: Node, batch: Batch) -> None:
        run = batch.run
        run.held -= 1
        node.finished.setdefault(run, Counter())[batch] += 1
        if node.queue:
            self.start(node)
        else:
            node.idle += 1
            self.idle += 1
        self.ask(node)
        self.report(node, run)


def simulate(
    work: Work,
    cluster: Cluster,
    *,
    runs: int = 1,
    tricks: Tricks = PLAIN,
    generations: int = 5,
    seed: int = 0,
) -> Outcome:
    """The mean over some generations of each run, after those that it takes to settle."""
    simulation = Simulation(work, cluster, runs, tricks, seed)
    simulation.play(WARM_UP)
    simulation.forget()
    simulation.play(WARM_UP + generations)
    everything = cluster.cpus * (simulation.now - simulation.since)
    lost = {cause: simulation.lost[cause] / everything for cause in sorted(simulation.lost)}
    each = [
        (run.ends[-1] - run.ends[WARM_UP - 1]) / (len(run.ends) - WARM_UP)
        for run in simulation.runs
    ]
    ended = sum(len(run.ends) for run in simulation.runs) - simulation.before
    return Outcome(
        cluster=cluster,
        runs=runs,
        generation=sum(each) / runs,
        efficiency=1 - sum(lost.values()),
        bytes=simulation.bytes / ended,
        calls=simulation.calls / ended,
        lost=lost,
    )
