"""The values that the layers exchange: what is left out of them, and what joins them."""

from dataclasses import replace
from math import inf

import numpy as np
import pytest

import toy
from nses.core.archive import archive_of
from nses.core.moments import Moments, initial
from nses.core.noise import Epsilon
from nses.core.values import Best, Candidates, Evaluation, State, reported

THETA = np.zeros(3, np.float32)
ALONE = Candidates(THETA, initial(1), np.arange(8))


def evaluation(n, **more):
    f = np.arange(float(n))
    seen = Moments(float(n), f[:1], f[-1:])
    return Evaluation(f, f + 100, np.arange(n) + 1, seen, **more)


def test_what_is_not_said_has_not_happened():
    best = Best(THETA, initial(1), np.zeros(2))
    assert (best.score, best.generation, best.member) == (-inf, 0, 0)
    state = State(0, (), archive_of([]), (), best)
    assert (state.episodes, state.env_steps, state.updated) == (0, 0, None)
    assert (ALONE.sigma, ALONE.before, ALONE.enough) == (0.0, 0, None)
    assert (evaluation(1).blown_up, evaluation(1).restarts) == (0, 0)


def test_more_candidates_of_a_generation_are_those_behind_the_first():
    epsilon = Epsilon(np.zeros(99, np.float32), np.array([5, 6, 7, 8]), 3)
    contributes = np.arange(8) > 4
    more = replace(ALONE, epsilon=epsilon, contributes=contributes).after(6, enough=50)
    assert (len(more), more.before, more.enough) == (2, 6, 50)
    assert more.seeds.tolist() == [6, 7]
    assert more.contributes.tolist() == [True, True]
    assert more.epsilon.offsets.tolist() == [8]


def test_two_evaluations_of_a_generation_are_one():
    both = evaluation(2, blown_up=1, restarts=2).followed_by(evaluation(3, blown_up=10, restarts=5))
    assert both.f.tolist() == [0, 1, 0, 1, 2]
    assert both.N.tolist() == [100, 101, 100, 101, 102]
    assert both.lengths.tolist() == [1, 2, 1, 2, 3]
    assert (both.moments.count, both.moments.square.tolist()) == (5, [3.0])
    assert (both.blown_up, both.restarts) == (11, 7)


def test_a_shift_is_taken_from_every_step():
    assert evaluation(3).shifted(0.5).tolist() == [-0.5, 0.0, 0.5]
    assert evaluation(3).shifted(0.0).tolist() == [0.0, 1.0, 2.0]


@pytest.mark.parametrize(("b", "size"), [(np.ones(16), 16), (np.ones(17), 0)])
def test_a_short_behavior_is_reported(b, size):
    assert reported(b) == (1.0,) * size


def test_a_trace_is_not_reported():
    assert reported(np.zeros((2, 3), np.uint8)) == ()


def test_a_report_is_compared_and_shown_without_its_evaluation():
    search = toy.make_search("nsr-es")
    state = search.init()
    one, two = (search.step(state)[1] for _ in range(2))
    assert one.evaluation is not two.evaluation
    assert one == two
    assert "evaluation=" not in repr(one)
