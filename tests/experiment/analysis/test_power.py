"""How small a p-value can get."""

from itertools import combinations

import pytest

from nses.experiment.analysis.power import (
    least_corrected_p,
    least_p,
    out_of_reach,
    runs_needed,
)
from nses.experiment.analysis.statistics import holm, mann_whitney


@pytest.mark.parametrize(("x", "y", "ways"), [(1, 1, 2), (3, 4, 35), (5, 5, 252), (7, 7, 3432)])
def test_the_least_p_is_that_of_two_orders_among_all(x, y, ways):
    assert least_p(x, y) == pytest.approx(2 / ways)


def test_four_groups_that_do_not_overlap_have_the_least_corrected_p():
    groups = [[float(10 * g + i) for i in range(5)] for g in range(4)]
    couples = list(combinations(groups, 2))
    corrected = holm([mann_whitney(x, y).p for x, y in couples])
    least = least_corrected_p([(5, 5)] * 6)
    assert min(corrected) == pytest.approx(least)
    assert least == pytest.approx(6 * 2 / 252)


@pytest.mark.parametrize(("level", "pairs"), [(0.05, 1), (0.05, 6), (0.01, 6), (0.01, 10)])
def test_one_run_less_than_needed_is_too_few(level, pairs):
    n = runs_needed(level, pairs)
    assert pairs * least_p(n, n) < level <= pairs * least_p(n - 1, n - 1)


def test_what_cannot_be_shown_is_said_with_the_number_of_runs_that_can():
    assert out_of_reach([]) == []
    assert out_of_reach([(7, 7)] * 6) == []
    (few,) = out_of_reach([(5, 5)] * 6)
    assert "no p can be below 0.048" in few
    assert "p < 0.01 needs 7 runs" in few
    assert "0.05" not in few
    (fewer,) = out_of_reach([(3, 3)])
    assert "p < 0.05 needs 4 and p < 0.01 needs 5 runs" in fewer


def test_the_largest_pair_decides_what_can_be_shown():
    assert out_of_reach([(2, 2), (8, 8)]) == []
