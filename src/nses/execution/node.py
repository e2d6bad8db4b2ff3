"""A node of a cluster, as seen from the machine that hands out candidates."""

from typing import Any

from nses.core.archive import Archive
from nses.execution.pool import START
from nses.execution.watch import Found

SCHEDULED = 120.0  # seconds in which a foreman must start, on a machine that may be very busy
SILENT = 30.0  # seconds without an answer, due within one, after which a foreman counts as lost


class Node:
    """A node with a foreman: what it was last asked, and how long it has been silent."""

    def __init__(self, found: Found, most: int, workers: int, actor: Any):
        self.found, self.most, self.workers, self.actor = found, most, workers, actor
        self.ready = False  # let in, and can play
        self.exact = False  # has the numerics of this machine
        self.call: Any = actor.here.remote()
        self.asked = "here"
        self.silent = 0.0
        self.knows: Archive | None = None
        self.busy = 0.0  # seconds that its workers have played, when it was last heard

    def ask(self, what: str, *arguments: Any) -> None:
        self.call, self.asked, self.silent = getattr(self.actor, what).remote(*arguments), what, 0.0

    def patience(self, deadline: float) -> float:
        return {"here": SCHEDULED, "introduce": START + 2 * deadline}.get(self.asked, SILENT)
