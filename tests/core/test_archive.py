import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nses.core.archive import archive_of, empty
from nses.core.novelty import novelty


@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(1, 3)), max_size=150))
def test_every_value_stays_valid_whatever_is_appended_to_it_or_to_others(operations):
    # Appends 1 to 3 rows to any earlier value; `expected` says what each has to hold for ever.
    archives, expected = [empty(2)], [[]]
    for number, (which, rows) in enumerate(operations):
        parent = which % len(archives)
        added = [[float(number), float(i)] for i in range(rows)]
        archives.append(archives[parent].append(added))
        expected.append(expected[parent] + added)
    for A, rows in zip(archives, expected, strict=True):
        assert len(A) == len(rows)
        np.testing.assert_array_equal(A.rows, np.array(rows).reshape(-1, 2))


def test_appending_does_not_copy_what_is_there():
    A = archive_of(np.zeros((1000, 2))).append([1.0, 1.0])
    longer = A.append([2.0, 2.0])
    assert np.shares_memory(A.rows, longer.rows)


def test_an_archive_extends_its_earlier_values_but_not_a_branch():
    A = archive_of([[0.0, 0.0]])
    left, right = A.append([1.0, 0.0]), A.append([0.0, 1.0])
    assert left.extends(A)
    assert not A.extends(left)
    assert not left.extends(right)
    assert not right.extends(left)


def test_the_caller_keeps_his_array():
    rows = np.zeros((3, 2))
    A = archive_of(rows)
    rows[:] = 7
    assert not A.rows.any()


@pytest.mark.parametrize("nothing", [[], np.empty((0, 2)), np.empty((0, 0))])
def test_e8_an_archive_of_nothing_is_empty_and_can_grow(nothing):
    A = archive_of(nothing)
    assert len(A) == 0
    assert novelty([1.0, 2.0], A, k=3) == 0
    np.testing.assert_array_equal(A.append([1.0, 2.0]).rows, [[1.0, 2.0]])


def test_behaviors_are_kept_in_float64():
    A = archive_of(np.array([[0.1]], np.float32)).append([0.1])
    assert A.rows.dtype == np.float64
    np.testing.assert_array_equal(A.rows, [[np.float32(0.1)], [0.1]])
