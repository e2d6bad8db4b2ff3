"""Episodes that a worker has played before anybody asked for them."""

from dataclasses import replace

import numpy as np

from nses.rollouts.episode import Episode

MOST_BYTES = 64 << 20  # kept by a worker: traces are large


class Kept:
    """Episodes of one job, by candidate."""

    def __init__(self, number: int = 0):
        self.number = number
        self.episodes: dict[int, Episode] = {}
        self.bytes = 0

    @property
    def full(self) -> bool:
        return self.bytes >= MOST_BYTES

    def add(self, i: int, episode: Episode) -> None:
        b = np.array(episode.behavior)  # its player may use the original again
        seen = 0 if episode.observed is None else episode.observed.row.nbytes
        self.episodes[i] = replace(episode, behavior=b)
        self.bytes += b.nbytes + seen
