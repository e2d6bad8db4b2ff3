"""How much of their time workers play, and how long an episode takes them."""

import time
from math import isnan, nan

BRIEF = 0.001  # seconds: keeping an episode takes a fraction of this


class Clock:
    """Looked at once a generation, after its candidates have been played."""

    def __init__(self) -> None:
        self.looked, self.busy = nan, 0.0
        self.episode = nan  # seconds that one takes a worker

    def idle(self, busy: float, workers: int, episodes: int) -> float | None:
        """The share of the time since the last look in which workers had nothing to do.

        `busy` is how many seconds they have played since they started, all together. None at the
        first look.
        """
        now = time.monotonic()
        there = workers * (now - self.looked)
        played, self.looked, self.busy = busy - self.busy, now, busy
        self.episode = played / episodes
        return None if isnan(there) else round(max(0.0, 1 - played / max(there, 1e-9)), 4)

    @property
    def brief(self) -> bool:
        """Whether episodes are so short that playing them ahead costs more than it saves."""
        return self.episode < BRIEF  # not as long as that is unknown
