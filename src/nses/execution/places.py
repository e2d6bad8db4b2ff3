"""The memory that a coordinator shares with its workers: jobs, their progress, and noise."""

from collections.abc import Collection

from nses.execution.job import OPEN, Job, Memory, publish
from nses.execution.shared import Field


def progress_fields(workers: int) -> list[Field]:
    return [
        ("number", "i8", (1,)),  # of the current job: workers at an older one stop
        ("turn", "i8", (1,)),  # grows when there is something to play: who looks ahead comes back
        ("foreseen", "i8", (1,)),  # the number of the job that probably comes next, or 0
        ("job", "i8", (workers,)),  # the number of the job that a worker is playing
        ("current", "i8", (workers,)),  # the candidate that a worker is playing, -1 when idle
        ("played", "i8", (workers,)),  # episodes started: progress, as long as it grows
        ("ahead", "i8", (workers,)),  # candidates of its share of the foreseen job that it has kept
        ("busy", "f8", (workers,)),  # seconds in which a worker has played
    ]


def noise_fields(size: int) -> list[Field]:
    return [("table", "f4", (size,))]


class Places:
    """Memory for a few jobs: the current one, and others that workers may still be reading.

    Jobs are numbered in the order in which they are published.
    """

    def __init__(self, memories: list[Memory]):
        self.memories = memories
        self.numbers = [-1] * len(memories)  # of the job in each place, -1 before the first
        self.issued = 0

    def of(self, number: int) -> int:
        """The place of a job."""
        return self.numbers.index(number)

    def vacant(self, needed: int, read: Collection[int]) -> int:
        """The place for another job, never that of the job `needed`.

        If possible, it is not one of those that are being `read`; of the rest it is the oldest.
        """
        places = [place for place, number in enumerate(self.numbers) if number != needed]
        return min(places, key=lambda place: (self.numbers[place] in read, self.numbers[place]))

    def publish(self, job: Job, place: int) -> int:
        """Writes a job, none of which has been played yet; returns its number."""
        memory = self.memories[place]
        publish(job, memory)
        memory["status"][: len(job)] = OPEN
        self.issued += 1
        self.numbers[place] = self.issued
        return self.issued
