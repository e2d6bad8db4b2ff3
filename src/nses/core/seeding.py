"""The source of every random number: (run seed, purpose, generation, index)."""

from collections.abc import Sequence
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from nses.errors import UsageError

MOST_EPISODES = 10**6  # of one evaluation


class Purpose(IntEnum):
    """One stream of random numbers per purpose. Never renumber: every stored run depends on it."""

    NOISE_TABLE = 1
    POLICY_INIT = 2
    SELECTION = 3
    PERTURBATION = 4
    EPISODE = 5
    EVALUATION = 6
    MOMENTS = 7
    RETEST = 8
    FRESH_BEHAVIOR = 9
    ACTION_NOISE = 10
    FRESH_EPISODES = 11
    REFERENCE = 12


def generator(seed: int, generation: int, index: int, purpose: Purpose) -> np.random.Generator:
    """The random numbers of one purpose, a pure function of the four arguments."""
    sequence = np.random.SeedSequence(seed, spawn_key=(int(purpose), generation, index))
    return np.random.Generator(np.random.Philox(sequence))


def check_fresh(episodes: int, seed: int) -> None:
    """UsageError unless so many fresh episodes can be drawn from this seed."""
    if not 1 <= episodes <= MOST_EPISODES:
        raise UsageError(f"episodes must be from 1 to {MOST_EPISODES:,}, got {episodes:,}.")
    if seed < 0:
        raise UsageError(f"seed must be at least 0, got {seed}.")


def is_exact(n: int, starts: Sequence[int]) -> bool:
    """Whether n episodes are enough to play each start of a task, if these are finitely many."""
    return 0 < len(starts) <= n


def evaluation_seeds(
    seed: int, generation: int, index: int, purpose: Purpose, n: int, starts: Sequence[int]
) -> NDArray[np.int64]:
    """Of n episodes that measure a policy, or of each start once where n are enough for that.

    More than once would be the same episodes again.
    """
    if is_exact(n, starts):
        return np.array(starts, np.int64)
    return episode_seeds(seed, generation, index, purpose, n)


def assessment_seeds(
    seed: int, generation: int, index: int, purpose: Purpose, n: int, starts: Sequence[int]
) -> NDArray[np.int64]:
    """The same, but starts come in an order that is drawn: of traces, the first one is b."""
    seeds = evaluation_seeds(seed, generation, index, purpose, n, starts)
    shuffled = is_exact(n, starts)
    return generator(seed, generation, index, purpose).permutation(seeds) if shuffled else seeds


def episode_seeds(
    seed: int, generation: int, index: int, purpose: Purpose, n: int
) -> NDArray[np.int64]:
    """One environment seed per episode, (n,), of 31 bits, which every simulator accepts.

    The i-th does not depend on n.
    """
    return generator(seed, generation, index, purpose).integers(1 << 31, size=n, dtype=np.int64)
