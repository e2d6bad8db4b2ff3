"""How much of their time workers play, and how long an episode takes them."""

import time
from math import isnan, nan

BRIEF = 0.001  # seconds: keeping an episode takes a fraction of this


class Clock:
    """Told of all episodes; looked at once a generation, after its candidates have been played."""

    def __init__(self) -> None:
        self.looked, self.busy = nan, 0.0
        self.episodes = 0  # since the last look
        self.episode = nan  # seconds that one takes a worker

    def count(self, episodes: int) -> None:
        self.episodes += episodes

    def idle(self, busy: float, workers: int) -> float | None:
        """The share of the time since the last look in which workers had nothing to do.

        `busy` is how many seconds they have played since they started, all together. None at the
        first look.
        """
        now = time.monotonic()
        there = workers * (now - self.looked)
        played, self.looked, self.busy = busy - self.busy, now, busy
        self.episode, self.episodes = played / max(self.episodes, 1), 0
        return None if isnan(there) else round(max(0.0, 1 - played / max(there, 1e-9)), 4)

    @property
    def brief(self) -> bool:
        """Whether episodes are so short that playing them ahead costs more than it saves."""
        return self.episode < BRIEF  # not as long as that is unknown
