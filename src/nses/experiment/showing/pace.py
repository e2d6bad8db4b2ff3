"""How far a run is, in one line, for whatever shows its progress."""

import time
from typing import Any

from nses.words import duration, short


class Pace:
    """The time that is left, from the generations since the first one that it was told of."""

    def __init__(self, generations: int):
        self.generations = generations
        self.began: tuple[float, int] | None = None

    def left(self, done: int) -> str:
        now = time.monotonic()
        if self.began is None:
            self.began = (now, done)
        elapsed, generations = now - self.began[0], done - self.began[1]
        if generations < 1:
            return "?"
        return duration(elapsed / generations * (self.generations - done))


def numbers(record: dict[str, Any]) -> str:
    """Best, mean return, w, novelty and speed, in one line."""
    return (
        f"best {short(record['best'])}  mean {short(record['return_mean'])}"
        f"  w {record['weight']:.2f}  novelty {short(record['novelty_mean'])}"
        f"  {record['steps_per_second']:,.0f} steps/s"
    )
