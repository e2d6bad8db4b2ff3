from itertools import permutations

import numpy as np
import pytest
import scipy.spatial
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from nses.core import novelty as module
from nses.core.archive import archive_of, empty
from nses.core.distances import k_smallest
from nses.core.novelty import TREE_FROM, TREE_TAIL, novelty
from nses.core.seeding import Purpose, generator
from nses.errors import UsageError


@pytest.fixture
def built(monkeypatch):
    """How many rows each tree was built of."""
    sizes = []

    class Counted(scipy.spatial.KDTree):
        def __init__(self, rows, **options):
            sizes.append(len(rows))
            super().__init__(rows, **options)

    monkeypatch.setattr(scipy.spatial, "KDTree", Counted)
    return sizes


coordinates = st.floats(-100, 100) | st.integers(-2, 2).map(float)


def behaviors(dimensions, least=1):
    return arrays(
        np.float64,
        st.tuples(st.integers(least, 12), st.just(dimensions)),
        elements=coordinates,
    )


def brute_force(b, rows, k, root=False):
    """All distances, sorted, the first k added one by one: the definition, with its roundings."""
    squared = np.zeros((len(b), len(rows)))
    for j in range(rows.shape[1]):
        squared += (b[:, j, None] - rows[:, j]) ** 2
    nearest = np.sort(squared, axis=1)[:, :k]
    total = np.zeros(len(b))
    for column in np.sqrt(nearest).T if root else nearest.T:
        total += column
    return total / nearest.shape[1]


def random_behaviors(n, dimensions, index=0):
    """Half of them on a coarse grid, so that many are equal."""
    b = generator(0, 0, index, Purpose.POLICY_INIT).standard_normal((n, dimensions))
    b[::2] = np.round(b[::2], 1)
    return b


@given(behaviors(3), behaviors(3), st.integers(1, 15))
def test_novelty_is_the_mean_distance_to_the_k_nearest(b, rows, k):
    np.testing.assert_array_equal(novelty(b, rows, k), brute_force(b, rows, k))


@given(behaviors(2), behaviors(2), st.integers(1, 15))
def test_the_plain_euclidean_distance_is_an_option(b, rows, k):
    expected = brute_force(b, rows, k, root=True)
    np.testing.assert_array_equal(novelty(b, rows, k, "euclidean"), expected)


@given(behaviors(2), behaviors(2), st.integers(1, 15))
def test_novelty_does_not_depend_on_the_order_of_the_archive(b, rows, k):
    np.testing.assert_array_equal(novelty(b, rows, k), novelty(b, rows[::-1], k))


@given(behaviors(2), behaviors(2, least=2), st.integers(1, 15))
def test_a_growing_archive_makes_nothing_more_novel_once_it_has_k_entries(b, rows, k):
    k = min(k, len(rows) - 1)
    assert (novelty(b, rows, k) <= novelty(b, rows[:-1], k)).all()


def test_a_single_behavior_gives_a_number():
    N = novelty([0.0, 0.0], [[3.0, 4.0], [0.0, 1.0], [9.0, 9.0]], k=2)
    assert isinstance(N, float)
    assert N == (25 + 1) / 2
    assert novelty([0.0, 0.0], [[3.0, 4.0], [0.0, 1.0]], k=2, distance="euclidean") == (5 + 1) / 2


@pytest.mark.parametrize("size", [100, TREE_FROM + 100])
def test_novelty_does_not_depend_on_batches(size):
    A = archive_of(random_behaviors(size, 2))
    b = random_behaviors(40, 2, index=1)
    together = novelty(b, A, k=10)
    np.testing.assert_array_equal([novelty(one, A, k=10) for one in b], together)
    halves = [novelty(half, A, k=10) for half in (b[:13], b[13:])]
    np.testing.assert_array_equal(np.concatenate(halves), together)


@pytest.mark.parametrize("dimensions", [1, 2, 3, 8])
def test_the_tree_gives_the_bits_of_brute_force_while_the_archive_grows(dimensions):
    rows = random_behaviors(TREE_FROM + TREE_TAIL + 600, dimensions)
    b = np.concatenate([random_behaviors(20, dimensions, index=1), rows[:20]])
    A = archive_of(rows[: TREE_FROM - 1])
    values = []
    for more in (1, 1, 500, TREE_TAIL - 501, 1, 597):  # up to the tree, along its tail, to the next
        A = A.append(rows[len(A) : len(A) + more])
        np.testing.assert_array_equal(novelty(b, A, 10), brute_force(b, A.rows, 10))
        values.append(A)
    for A in values:  # earlier values share a buffer, and a tree, with later ones
        np.testing.assert_array_equal(novelty(b, A, 10), brute_force(b, A.rows, 10))


def test_every_row_behind_the_tree_is_seen():
    b = np.full((1, 2), 100.0)
    A = archive_of(random_behaviors(TREE_FROM, 2))
    novelty(b, A, 1)
    for nearer in (3.0, 2.0, 1.0, 0.0):
        A = A.append(b + np.array([nearer, 0.0]))
        assert novelty(b, A, 1) == nearer**2


def test_the_tree_gives_the_bits_of_brute_force_on_a_branch():
    rows = random_behaviors(TREE_FROM, 2)
    A = archive_of(rows)
    left, right = A.append([0.05, 0.05]), A.append([0.01, 0.01])
    b = np.zeros((1, 2))
    for branch in (left, right, A):
        np.testing.assert_array_equal(novelty(b, branch, 3), brute_force(b, branch.rows, 3))


def test_the_tree_gives_the_bits_of_brute_force_among_thousands_of_near_ties():
    # Equal distances whose sums round differently: which row is nearest depends on the roundings.
    values = generator(6, 0, 0, Purpose.POLICY_INIT).random(8)
    rows = np.array(list(permutations(values)))[:: 40320 // TREE_FROM]
    b = np.zeros((1, 8))
    np.testing.assert_array_equal(novelty(b, archive_of(rows), 10), brute_force(b, rows, 10))


@pytest.mark.parametrize("radius", [0.01, 3.0])
def test_near_ties_are_told_apart_to_the_last_bit_at_any_scale(radius):
    rows = generator(0, 0, 0, Purpose.POLICY_INIT).standard_normal((TREE_FROM, 8))
    rows *= radius / np.linalg.norm(rows, axis=1, keepdims=True)
    b = np.zeros((1, 8))
    np.testing.assert_array_equal(novelty(b, archive_of(rows), 10), brute_force(b, rows, 10))


def test_a_tree_is_built_for_large_archives_and_again_when_its_tail_is_long(monkeypatch, built):
    monkeypatch.setattr(module, "TREE_FROM", 16)
    monkeypatch.setattr(module, "TREE_TAIL", 4)
    A = archive_of(np.arange(30.0).reshape(15, 2))
    for size in range(15, 23):
        for _ in range(2):
            novelty(np.zeros((1, 2)), A, 3)
        assert len(A) == size
        A = A.append([float(size), 0.0])
    assert built == [16, 21]


def test_a_tree_is_built_of_8192_rows_and_again_when_more_than_1024_came(built):
    rows, seen = random_behaviors(9300, 1), []
    A = archive_of(rows[:8191])
    for size in (8191, 8192, 9216, 9217):
        A = A.append(rows[len(A) : size]) if size > len(A) else A
        novelty([[0.0]], A, 3)
        seen.append(list(built))
    assert seen == [[], [8192], [8192], [8192, 9217]]


@pytest.mark.parametrize(
    ("ten", "scans"),
    [
        ([0.5, *[1.0] * 8, 1.0], 1),
        ([0.5, *[1.0] * 8, np.sqrt(1 + 0.5e-9)], 1),
        ([0.5, *[1.0] * 8, np.sqrt(1 + 1e-9)], 1),
        ([0.5, *[1.0] * 8, np.sqrt(1 + 1.5e-9)], 0),
        ([0.5, *[1.0] * 8, 1.2], 0),
        ([0.0] * 10, 0),
    ],
)
def test_all_rows_are_scanned_only_where_the_tree_may_have_missed_one(monkeypatch, ten, scans):
    scanned, scan = [], module._scan
    monkeypatch.setattr(module, "_scan", lambda *given: (scanned.append(given), scan(*given))[1])
    monkeypatch.setattr(module, "TREE_FROM", 16)
    rows = np.array([*ten, *range(90, 100)])[:, None]
    b = np.zeros((1, 1))
    np.testing.assert_array_equal(novelty(b, archive_of(rows), 2), brute_force(b, rows, 2))
    assert len(scanned) == scans


@pytest.mark.parametrize("k", [8, 9, 16, 17, 20, 30])
def test_neighbours_may_be_more_than_the_tree_has_rows(monkeypatch, k):
    monkeypatch.setattr(module, "TREE_FROM", 16)
    rows, b = random_behaviors(20, 2), random_behaviors(5, 2, index=1)
    A = archive_of(rows[:16])
    novelty(b, A, k)  # builds the tree
    A = A.append(rows[16:])
    np.testing.assert_array_equal(novelty(b, A, k), brute_force(b, rows, k))


@pytest.mark.parametrize(("dimensions", "trees"), [(8, 1), (9, 0)])
def test_a_tree_is_not_built_in_many_dimensions(monkeypatch, built, dimensions, trees):
    monkeypatch.setattr(module, "TREE_FROM", 16)
    monkeypatch.setattr(module, "TREE_TAIL", 4)
    novelty(np.zeros((1, dimensions)), archive_of(np.ones((20, dimensions))), 3)
    assert len(built) == trees


@pytest.mark.parametrize(
    ("b", "A"), [((2, 3, 2), (4, 2)), ((3, 2), (4, 2, 2)), ((1, 2, 2), (1, 2, 2))]
)
def test_behaviors_are_rows_of_numbers(b, A):
    with pytest.raises(UsageError, match="must have shape"):
        novelty(np.zeros(b), np.zeros(A), 3)


def test_e8_an_empty_archive_makes_everything_equally_unsurprising():
    np.testing.assert_array_equal(novelty(np.ones((3, 2)), empty(2), k=10), np.zeros(3))
    assert novelty([1.0, 2.0], [], k=10) == 0


def test_e9_an_archive_smaller_than_k_is_used_whole():
    rows = random_behaviors(4, 2)
    b = random_behaviors(5, 2, index=1)
    np.testing.assert_array_equal(novelty(b, rows, k=10), novelty(b, rows, k=4))


@pytest.mark.parametrize("k", [0, -1])
def test_e9_k_below_one_is_refused(k):
    with pytest.raises(ValueError, match=f"at least 1, got k={k}"):
        novelty([0.0], [[1.0]], k=k)


def test_an_unknown_distance_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match=r"euclidean, ram, ram-total, got 'manhattan'"):
        novelty([0.0], [[1.0]], k=1, distance="manhattan")


def test_behaviors_of_another_length_are_refused():
    with pytest.raises(ValueError, match="have 3 numbers, but those in the archive 2"):
        novelty([0.0, 0.0, 0.0], [[1.0, 1.0]], k=1)


def test_l2_no_row_is_looked_up_behind_the_archive_where_squares_overflow(monkeypatch):
    looked_up = []

    def watch(b, rows, start, known, k):
        looked_up.append(int(known.max(initial=0)) < len(rows))
        return k_smallest(b, rows, start, known, k)

    monkeypatch.setattr("nses.core.novelty.k_smallest", watch)
    rows = random_behaviors(TREE_FROM, 2)
    rows[:3] = 1e200
    N = novelty([[1e200, 1e200], [0.0, 0.0], [-1e200, 0.0]], rows, 3)
    assert N.tolist() == [0.0, *brute_force(np.zeros((1, 2)), rows[3:], 3), np.inf]
    assert all(looked_up)
