"""Hints at the next generation are guesses from what is known, and change nothing."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import toy
from nses.core.algorithms import ALGORITHMS
from nses.core.foresight import Hint
from nses.core.values import Candidates

GENERATIONS = 12


class Watched:
    """A search that is watched: what it hinted at, and what it then played, by generation."""

    def __init__(self, algorithm: str, seed: int = toy.SEED, **settings: object):
        self.told: dict[int, Candidates] = {}
        self.played: list[Candidates] = []
        search = toy.make_search(algorithm, see=lambda c, A: self.see(c), **settings)
        self.search = replace(search, seed=seed, foresee=self.foresee)

    def see(self, candidates: Candidates) -> None:
        if candidates.epsilon is not None:
            self.played.append(candidates)

    def foresee(self, t: int, hint: Hint) -> None:
        first, self.told[t] = hint(), hint()
        assert content(first) == content(self.told[t])

    def right(self) -> list[bool]:
        guesses = [self.told[t] for t in range(1, len(self.played))]
        return [content(a) == content(b) for a, b in zip(guesses, self.played[1:], strict=True)]


def content(candidates: Candidates) -> list[bytes]:
    assert candidates.epsilon is not None
    assert candidates.contributes is not None
    arrays = (candidates.theta, candidates.seeds, candidates.epsilon.offsets)
    return [x.tobytes() for x in (*arrays, candidates.contributes, candidates.moments.row)]


@given(
    st.sampled_from(sorted(ALGORITHMS)),
    st.sampled_from(["novelty", "fresh", "uniform", "round-robin"]),
    st.integers(0, 2**32),
)
@settings(max_examples=20, deadline=None)
def test_a_search_whose_hints_are_followed_is_the_one_whose_hints_are_ignored(
    name, selection, seed
):
    watched = Watched(name, seed, selection=selection, moments_probability=0.5)
    ignored = replace(
        toy.make_search(name, selection=selection, moments_probability=0.5), seed=seed
    )
    for (one, a), (other, b) in zip(
        watched.search.run(generations=4), ignored.run(generations=4), strict=True
    ):
        assert toy.everything(one) == toy.everything(other)
        assert a == b
    assert sorted(watched.told) == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("algorithm", "settings"),
    [
        ("es", {"M": 1}),
        ("nsr-es", {"selection": "round-robin"}),
        ("ns-es", {"selection": "uniform"}),
    ],
)
def test_where_behaviors_do_not_decide_every_guess_is_right(algorithm, settings):
    watched = Watched(algorithm, moments_probability=0.5, **settings)
    toy.after(watched.search, GENERATIONS)
    assert watched.right() == [True] * (GENERATIONS - 1)


def test_where_novelty_decides_most_guesses_are_right_and_some_are_wrong():
    right = []
    for seed in range(6):
        watched = Watched("nsra-es", seed)
        toy.after(watched.search, GENERATIONS)
        right += watched.right()
    assert 0.6 < sum(right) / len(right) < 1.0


def test_a_budget_of_steps_leaves_the_hint_at_n_candidates():
    watched = Watched("es", M=1, steps_per_generation=20 * toy.LENGTH)
    toy.after(watched.search, 3)
    assert len(watched.told[2]) == 16
    assert [len(c) for c in watched.played if not c.before] == [16] * 3
