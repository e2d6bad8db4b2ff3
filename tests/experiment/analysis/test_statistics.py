import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from nses.experiment.analysis.statistics import (
    PairedDifference,
    holm,
    interquartile_mean,
    mann_whitney,
    median,
    median_interval,
    signed_rank,
)

numbers = st.floats(-1e6, 1e6)


def test_median_of_an_odd_number_is_the_middle():
    assert median([9.0, 1.0, 2.0]) == 2.0


def test_median_of_an_even_number_is_the_mean_of_the_two_middles():
    assert median([4.0, 1.0, 100.0, 2.0]) == 3.0


def test_nothing_has_no_median_and_no_interquartile_mean():
    assert np.isnan(median([]))
    assert np.isnan(interquartile_mean([]))


def test_the_interquartile_mean_leaves_out_a_quarter_on_either_side():
    assert interquartile_mean([-1000.0, 1.0, 3.0, 1000.0]) == 2.0
    assert interquartile_mean([5.0]) == 5.0


def test_p_of_five_against_five_that_do_not_overlap_is_two_in_252():
    result = mann_whitney([6, 7, 8, 9, 10], [1, 2, 3, 4, 5])
    assert result.p == pytest.approx(2 / 252)
    assert (result.U, result.effect) == (25.0, 1.0)


@pytest.mark.parametrize(
    ("x", "y"),
    [
        ([1.0, 5.0, 3.0], [2.0, 8.0, 9.0, 4.0]),
        ([5.3, 5.3, 5.3, 5.3], [5.3, 20.0, 30.0, 40.0]),  # ties
        (list(range(30)), [x + 0.5 for x in range(5, 35)]),
    ],
)
def test_p_is_that_of_scipy(x, y):
    expected = scipy.stats.mannwhitneyu(x, y, alternative="two-sided")
    result = mann_whitney(x, y)
    assert (result.U, result.p) == (expected.statistic, expected.pvalue)


@given(st.lists(numbers, min_size=1, max_size=8), st.lists(numbers, min_size=1, max_size=8))
def test_the_effect_is_the_share_of_pairs_that_the_first_wins_ties_counting_half(x, y):
    pairs = [1.0 if a > b else 0.5 if a == b else 0.0 for a in x for b in y]
    assert mann_whitney(x, y).effect == pytest.approx(np.mean(pairs))


def test_p_does_not_depend_on_which_sample_comes_first():
    x, y = [1.0, 4.0, 6.0], [2.0, 3.0, 9.0, 10.0]
    assert mann_whitney(x, y).p == mann_whitney(y, x).p


@pytest.mark.parametrize(("x", "y"), [([3.0], [4.0]), ([3.0], [3.0]), ([2.0] * 5, [2.0] * 5)])
def test_p_is_one_where_nothing_can_be_told_apart(x, y):
    assert mann_whitney(x, y).p == 1.0


@pytest.mark.parametrize("y", [[2.0, 8.0, 9.0, 4.0], [0.0, 6.0, 2.0, 5.0], [1.0, 5.0, 3.0, 0.0]])
def test_the_paired_p_is_that_of_scipy_and_looks_at_who_belongs_together(y):
    x = [1.0, 5.0, 3.0, 2.0]
    expected = scipy.stats.wilcoxon(np.subtract(x, y))
    result = signed_rank(x, y)
    assert (result.W, result.p) == (expected.statistic, expected.pvalue)
    assert signed_rank(y, x).p == result.p


def test_six_seeds_that_all_agree_have_a_paired_p_of_two_in_sixty_four():
    assert signed_rank(range(6), range(1, 13, 2)) == PairedDifference(0.0, 2 / 64)


def test_equal_pairs_are_no_evidence():
    assert signed_rank([2.0, 3.0], [2.0, 3.0]) == PairedDifference(0.0, 1.0)
    assert signed_rank([2.0, 3.0, 7.0], [2.0, 4.0, 9.0]) == signed_rank([3.0, 7.0], [4.0, 9.0])


def test_holm_multiplies_the_smallest_most_and_keeps_the_order():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, 0.9]) == [1.0, 1.0]
    assert holm([]) == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=10))
def test_holm_never_rejects_more_than_no_correction_nor_fewer_than_bonferroni(p):
    corrected = np.array(holm(p))
    assert (corrected >= p).all()
    assert (corrected <= np.minimum(1, np.array(p) * len(p)) + 1e-15).all()


@given(st.lists(numbers, min_size=2, max_size=12))
def test_the_interval_lies_within_the_runs_and_around_their_median(x):
    low, high = median_interval(x, resamples=200)
    least, most = np.nextafter(min(x), -np.inf), np.nextafter(max(x), np.inf)  # it interpolates
    assert least <= low <= high <= most


def test_the_interval_is_that_of_scipy_and_the_same_every_time():
    x = np.random.default_rng(5).normal(size=10)
    expected = scipy.stats.bootstrap(
        (x,), np.median, n_resamples=9999, method="percentile", rng=np.random.default_rng(0)
    ).confidence_interval
    assert median_interval(x).tolist() == list(expected)
    assert (median_interval(x) == median_interval(x)).all()


def test_the_interval_of_a_sample_covers_the_true_median_nearly_always():
    rng = np.random.default_rng(1)
    low, high = median_interval(rng.normal(size=(300, 20)), resamples=400)
    assert 0.88 < np.mean((low <= 0) & (high >= 0)) <= 1.0


def test_one_run_has_no_interval():
    assert np.isnan(median_interval([3.0])).all()
    assert median_interval(np.zeros((7, 1))).shape == (2, 7)
