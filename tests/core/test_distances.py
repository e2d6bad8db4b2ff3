"""Distances by name; tests of novelty and of traces compare them with their definitions."""

import numpy as np
import pytest

from nses.core.distances import (
    TRACE_DISTANCES,
    VECTOR_DISTANCES,
    check_distance,
    k_smallest,
    squared_distance,
)


def test_the_distance_of_the_paper_is_squared():
    a, b = np.array([1.0, 2.0]), np.array([4.0, 6.0])
    assert squared_distance(a, b) == 25.0
    assert VECTOR_DISTANCES["squared-euclidean"](np.array([25.0])) == 25.0
    assert VECTOR_DISTANCES["euclidean"](np.array([25.0])) == 5.0


def test_the_nearest_are_sought_among_known_rows_and_those_from_the_start_on():
    rows = np.array([[0.0], [1.0], [2.0], [5.0]])
    none, first = np.empty((1, 0), np.int64), np.zeros((1, 1), np.int64)
    b = np.zeros((1, 1))
    assert k_smallest(b, rows, 0, none, 3).tolist() == [[0.0, 1.0, 4.0]]
    assert k_smallest(b, rows, 2, first, 3).tolist() == [[0.0, 4.0, 25.0]]


def test_a_distance_has_to_fit_the_kind_of_behavior():
    for name in VECTOR_DISTANCES:
        check_distance(name, traces=False)
    for name in TRACE_DISTANCES:
        check_distance(name, traces=True)
    with pytest.raises(ValueError, match="traces, distance must be ram or ram-total"):
        check_distance("euclidean", traces=True)
    with pytest.raises(ValueError, match="must be one of"):
        check_distance("manhattan", traces=False)
