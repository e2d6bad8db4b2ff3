"""What a worker keeps of episodes that nobody has asked for yet."""

import numpy as np

from nses.core.moments import Moments
from nses.execution.kept import MOST_BYTES, Kept
from nses.rollouts.episode import Episode


def test_episodes_are_kept_by_candidate_with_a_behavior_of_their_own():
    kept, b = Kept(7), np.array([1.0, 2.0])
    seen = Moments(3.0, np.ones(4), np.ones(4))
    kept.add(5, Episode(0.5, b, 3, seen))
    b[:] = 0.0  # the player plays on
    (episode,) = kept.episodes.values()
    assert (kept.number, [*kept.episodes]) == (7, [5])
    assert (episode.f, episode.length, episode.observed) == (0.5, 3, seen)
    assert episode.behavior.tolist() == [1.0, 2.0]
    assert kept.bytes == 8 * (2 + 9)


def test_e16_large_traces_fill_it_before_they_fill_the_machine():
    kept, trace = Kept(1), np.zeros((100_000, 128), np.uint8)
    while not kept.full:
        kept.add(len(kept.episodes), Episode(0.0, trace, len(trace)))
    assert MOST_BYTES <= kept.bytes < MOST_BYTES + trace.nbytes
