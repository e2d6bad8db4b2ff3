from math import inf

from hypothesis import given
from hypothesis import strategies as st

from nses.core.weight import Weight, adapt, keep
from pseudo_code import as_in_the_paper

scores = st.lists(st.integers(-5, 5).map(float), max_size=60)


def adapted(scores, weight, **settings):
    trace = []
    for f in scores:
        weight = adapt(weight, f, **settings)
        trace.append(weight.w)
    return trace


@given(scores, st.floats(0, 1), st.integers(1, 8), st.floats(0, 1))
def test_w_moves_as_in_the_pseudo_code_of_the_paper(scores, w, t_w, delta_w):
    expected = as_in_the_paper(scores, w, t_w, delta_w)
    assert adapted(scores, Weight(w=w), t_w=t_w, delta_w=delta_w) == expected


@given(scores, st.floats(0, 1), st.integers(1, 8), st.floats(0, 1), st.floats(0, 3))
def test_w_stays_between_0_and_1(scores, w, t_w, delta_w, min_gain):
    settings = {"t_w": t_w, "delta_w": delta_w, "min_gain": min_gain}
    assert all(0 <= w <= 1 for w in adapted(scores, Weight(w=w), **settings))


def test_w_falls_every_t_w_updates_without_improvement():
    trace = adapted([1.0] + [0.0] * 7, Weight(w=1.0), t_w=3, delta_w=0.25)
    assert trace == [1, 1, 1, 0.75, 0.75, 0.75, 0.5, 0.5]


def test_w_rises_with_every_improvement():
    assert adapted([1.0, 2.0, 3.0], Weight(w=0.25), t_w=3, delta_w=0.25) == [0.5, 0.75, 1]


def test_an_equal_score_is_no_improvement():
    assert adapt(Weight(w=0.5, f_best=1.0), 1.0, t_w=9, delta_w=0.1).t_best == 1


def test_the_paper_starts_from_reward_only():
    assert Weight() == Weight(w=1.0, f_best=-inf, t_best=0)


def test_gains_of_at_most_min_gain_do_not_count_until_they_add_up():
    settings = {"t_w": 9, "delta_w": 0.25, "min_gain": 1.0}
    assert adapted([0.0, 0.5, 1.0, 1.5], Weight(w=0.0), **settings) == [0.25, 0.25, 0.25, 0.5]


@given(scores)
def test_the_other_three_keep_their_weight(scores):
    weight = Weight(w=0.5)
    for f in scores:
        assert keep(weight, f, t_w=1, delta_w=0.5) is weight
