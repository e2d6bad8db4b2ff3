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


def test_the_storage_is_used_to_the_last_row_and_then_doubles():
    A, began = archive_of([[0.0, 0.0]]), {}
    for i in range(300):
        A = A.append([[float(i), 1.0]])
        began.setdefault(len(A.buffer.data), len(A))
    assert began == {64: 2, 128: 65, 256: 129, 512: 257}


def test_rows_cannot_be_written():
    with pytest.raises(ValueError, match="read-only"):
        archive_of([[1.0, 2.0]]).rows[0] = 3.0


def test_an_archive_extends_its_earlier_values_but_not_a_branch():
    A = archive_of([[0.0, 0.0]])
    left, right = A.append([1.0, 0.0]), A.append([0.0, 1.0])
    assert A.extends(A)
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


def test_e8_nothing_has_no_width():
    assert archive_of([]).rows.shape == (0, 0)


def test_behaviors_are_kept_in_float64():
    A = archive_of(np.array([[0.1]], np.float32)).append([0.1])
    assert A.rows.dtype == np.float64
    np.testing.assert_array_equal(A.rows, [[np.float32(0.1)], [0.1]])


def trace(steps, number=0, width=3):
    return np.full((steps, width), number % 256, np.uint8)


@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(1, 4)), max_size=60))
def test_every_archive_of_traces_stays_valid_whatever_is_appended_to_it_or_to_others(operations):
    archives, expected = [empty(0)], [[]]
    for number, (which, steps) in enumerate(operations):
        parent = which % len(archives)
        archives.append(archives[parent].append(trace(steps, number)))
        expected.append([*expected[parent], trace(steps, number)])
    for A, entries in zip(archives, expected, strict=True):
        assert len(A) == len(A.traces) == len(entries)
        for kept, entry in zip(A.traces, entries, strict=True):
            np.testing.assert_array_equal(kept, entry)


def test_appending_a_trace_copies_it_and_nothing_else():
    b = trace(5, 1)
    A = archive_of([trace(9), trace(2)])
    longer = A.append(b).append([b, b])
    b[:] = 7
    assert (longer.traces[2] == 1).all()
    assert len(longer) == 5
    for mine, theirs in zip(A.traces, longer.traces, strict=False):
        assert mine is theirs
    with pytest.raises(ValueError, match="read-only"):
        longer.traces[0][0] = 1
    assert sum(x.nbytes for x in longer.traces) == 3 * (9 + 2 + 5 + 5 + 5)  # no padding


def test_an_archive_of_traces_extends_its_earlier_values_but_not_a_branch():
    A = archive_of([trace(1)])
    left, right = A.append(trace(2)), A.append(trace(3))
    assert left.extends(A)
    assert not A.extends(left)
    assert not left.extends(right)
    assert not right.extends(left)


def test_e15_an_archive_takes_traces_of_any_length_but_of_one_width():
    A = archive_of([trace(4), trace(1)])
    with pytest.raises(ValueError, match="same number of bytes, got 3 and 4"):
        A.append(trace(2, width=4))
    with pytest.raises(ValueError, match="same number of bytes, got 3 and 4"):
        archive_of([trace(2), trace(2, width=4)])
    with pytest.raises(ValueError, match="a trace must be"):
        A.append(trace(0))
    with pytest.raises(ValueError, match="a trace must be"):
        A.append([1.0, 2.0])
    assert len(A) == len(A.traces) == 2


def test_an_archive_has_either_rows_or_traces():
    with pytest.raises(ValueError, match="this archive holds traces, which have no rows"):
        archive_of([trace(2)]).rows  # noqa: B018
    assert archive_of([[1.0, 2.0]]).traces == []
    assert archive_of(np.zeros((2, 3), np.uint8)).rows.shape == (2, 3)  # rows, as ever


def test_m12_an_entry_of_another_size_is_refused():
    A = archive_of([[1.0, 2.0]])
    for b in ([3.0], [[3.0]], [1.0, 2.0, 3.0]):
        with pytest.raises(ValueError, match="have 2 numbers, got"):
            A.append(b)
    assert len(A) == 1


def test_its_repr_says_how_many_of_what():
    assert repr(archive_of(np.zeros((1200, 2)))) == "<archive of 1,200 behaviors>"
    assert repr(archive_of([np.zeros((2, 3), np.uint8)] * 2)) == "<archive of 2 traces>"
