"""What a simulation of many CPUs moves around: batches of episodes, runs and nodes."""

from collections import Counter, deque

QUEUE = 8  # a node asks for more when less than this part of its CPUs have something to do next


class Batch:
    """Candidates of one generation, or episodes of an evaluation, in units."""

    def __init__(self, run: "Run", seconds: list[float], job_bytes: int, urgent: bool):
        self.run, self.seconds, self.job_bytes, self.urgent = run, seconds, job_bytes, urgent
        self.size = self.open = len(seconds)  # units, and those without a result
        self.there: set[Node] = set()  # nodes that have the job
        self.played = 0.0  # CPU seconds
        self.dropped = False

    @property
    def pending(self) -> int:
        return len(self.seconds)


class Run:
    """A coordinator and where it is."""

    def __init__(self, number: int):
        self.number = number
        self.phase = ""
        self.free = 0.0  # when its coordinator has time
        self.held = 0  # units that nodes have and have not finished
        self.assessments = 0  # of this generation, so far
        self.saved = 0.0  # when the last checkpoint was written
        self.current: Batch | None = None
        self.ahead: Batch | None = None
        self.ends: list[float] = []  # of generations

    def batches(self) -> list[Batch]:
        """What can be handed out, the most urgent first."""
        return [b for b in (self.current, self.ahead) if b is not None and b.pending]


class Node:
    def __init__(self, cpus: int):
        self.idle = cpus
        self.low = max(1, cpus // QUEUE)
        self.queue: deque[tuple[Batch, float]] = deque()
        self.finished: dict[Run, Counter[Batch]] = {}  # results that it has not told yet
        self.calls: set[Run] = set()  # on their way
        self.asking = False
