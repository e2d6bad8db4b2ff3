"""What the nodes of a cluster play ahead: the job that will probably come next, a share for each.

A node keeps the episodes of its share. When exactly this job begins, it is first handed candidates
of that share, and plays only those that it has not kept.
"""

from typing import Any

import numpy as np

from nses.core.foresight import Hint
from nses.execution.foresight import Hunch, judged
from nses.execution.job import NOTHING, Job, job_of
from nses.execution.node import Node
from nses.execution.shares import NO_INDICES, Indices, blocks_of

PAIR = 2


class Forecast:
    """The job that became of a hint, and who has which share of it.

    Larger jobs than the capacity are ignored.
    """

    def __init__(self, capacity: int):
        self.capacity = capacity  # 0: nobody looks ahead
        self.hunch: Hunch[Job] = Hunch()
        self._forget()

    def _forget(self) -> None:
        self.job, self.reference = NOTHING, None
        self.shares: dict[str, Indices] = {}  # by node
        self.offered: set[Node] = set()  # those that know their share

    def tell(self, hint: Hint) -> None:
        """What will probably be played after the job that begins next."""
        if self.capacity:
            self.hunch.tell(lambda: job_of(hint(), NOTHING.archive))

    @property
    def promising(self) -> bool:
        """Whether there is something better to do than to play what others are playing."""
        return self.hunch.held is not None or bool(self.shares)

    def begins(self, job: Job) -> bool | None:
        """Whether this is what was foreseen; None if nothing was, or it is not a generation's."""
        return judged(self.job, job)

    def begun(self, right: bool | None) -> None:
        """A hint that has been judged is over; a new one holds from now on."""
        if self.hunch.begun(right):
            self._forget()

    def offer(self, node: Node, nodes: list[Node]) -> tuple[Any, Indices]:
        """A reference to the job, and this node's share of it, once; None and nothing later."""
        if not self._looked(nodes) or node in self.offered:
            return None, NO_INDICES
        self.offered.add(node)
        return self.reference, self.shares.get(node.found.id, NO_INDICES)

    def _looked(self, nodes: list[Node]) -> bool:
        """Whether there is a job to look at; the first time, it is made from the hint."""
        job = self.hunch.take()
        if job is not None and len(job) <= self.capacity:
            import ray

            self.job, self.reference = job, ray.put(job)
            blocks = blocks_of(len(job), [node.workers for node in nodes], PAIR)
            self.shares = {
                node.found.id: np.arange(block.start, block.stop)
                for node, block in zip(nodes, blocks, strict=True)
            }
        return bool(self.shares)
