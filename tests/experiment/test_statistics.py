import math

import pytest
from scipy.stats import mannwhitneyu

from nses.experiment.statistics import Outcome, compare, mann_whitney, median


def outcomes(*best: float) -> list[Outcome]:
    """Runs whose re-test is one lower than their best."""
    return [Outcome(score, score - 1) for score in best]


def test_median_of_an_odd_number_is_the_middle():
    assert median([9.0, 1.0, 2.0]) == 2.0


def test_median_of_an_even_number_is_the_mean_of_the_two_middles():
    assert median([4.0, 1.0, 100.0, 2.0]) == 3.0


def test_median_of_one_is_itself():
    assert median([7.5]) == 7.5


def test_p_of_five_against_five_that_do_not_overlap_is_two_in_252():
    assert mann_whitney([6, 7, 8, 9, 10], [1, 2, 3, 4, 5]) == pytest.approx(2 / 252)


@pytest.mark.parametrize(
    ("x", "y"),
    [
        ([1.0, 5.0, 3.0], [2.0, 8.0, 9.0, 4.0]),
        ([5.3, 5.3, 5.3, 5.3], [5.3, 20.0, 30.0, 40.0]),  # ties
        (list(range(30)), [x + 0.5 for x in range(5, 35)]),
    ],
)
def test_p_is_that_of_scipy(x, y):
    assert mann_whitney(x, y) == mannwhitneyu(x, y, alternative="two-sided").pvalue


def test_p_does_not_depend_on_which_sample_comes_first():
    x, y = [1.0, 4.0, 6.0], [2.0, 3.0, 9.0, 10.0]
    assert mann_whitney(x, y) == mann_whitney(y, x)


@pytest.mark.parametrize(("x", "y"), [([3.0], [4.0]), ([3.0], [3.0]), ([2.0] * 5, [2.0] * 5)])
def test_p_is_one_where_nothing_can_be_told_apart(x, y):
    assert mann_whitney(x, y) == 1.0


def test_a_row_sums_up_the_best_scores_and_the_retests():
    (row,) = compare({"nsr-es": [Outcome(8, 7), Outcome(2, 2.5), Outcome(5, 1)]}, goal=4.0)
    assert (row.algorithm, row.runs) == ("nsr-es", 3)
    assert (row.median, row.minimum, row.maximum, row.retest) == (5, 2, 8, 2.5)
    assert row.reached == 2


def test_the_goal_must_be_exceeded_by_the_score_not_by_the_retest():
    rows = compare({"es": [Outcome(5.0, 9.0)], "ns-es": [Outcome(5.1, 0.0)]}, goal=5.0)
    assert [row.reached for row in rows] == [0, 1]


def test_without_a_goal_none_is_reached_or_missed():
    assert compare({"es": outcomes(1, 2)}, goal=None)[0].reached is None


def test_rows_keep_their_order_and_are_compared_with_es():
    best = {"ns-es": (3.0, 9.0, 8.0), "es": (1.0, 2.0, 2.5), "nsra-es": (1.5, 2.2, 0.5)}
    rows = compare({name: outcomes(*scores) for name, scores in best.items()}, goal=None)
    assert [row.algorithm for row in rows] == ["ns-es", "es", "nsra-es"]
    assert rows[0].p == mann_whitney(best["ns-es"], best["es"])
    assert rows[1].p is None
    assert rows[2].p == mann_whitney(best["nsra-es"], best["es"])


def test_without_es_there_is_no_p():
    assert compare({"ns-es": outcomes(1), "nsr-es": outcomes(2)}, goal=None)[1].p is None


def test_a_run_that_never_had_a_finite_score_counts_as_the_lowest():
    (row,) = compare({"es": outcomes(-math.inf, 1.0, 2.0)}, goal=0.0)
    assert (row.minimum, row.median, row.reached) == (-math.inf, 1.0, 2)
