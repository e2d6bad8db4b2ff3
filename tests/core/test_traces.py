"""Distances between traces, and the k nearest of them, against the definition."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import nses
from nses.core.archive import archive_of
from nses.core.novelty import novelty
from nses.core.seeding import Purpose, generator
from nses.core.traces import WIDEST, as_trace, distance, k_nearest_traces

DISTANCES = ("ram", "ram-total")

bytes_ = st.integers(0, 255) | st.sampled_from([0, 1, 255])


def traces(width=5, longest=9):
    return st.integers(1, longest).flatmap(lambda T: arrays(np.uint8, (T, width), elements=bytes_))


def definition(a, b, name):
    """Sec. 4.2: both as long as the longer one; its last state fills the shorter one up."""
    T = max(len(a), len(b))
    a, b = (np.concatenate([x, np.repeat(x[-1:], T - len(x), axis=0)]).astype(int) for x in (a, b))
    squared = ((a - b) ** 2).sum(axis=1)
    if name == "ram-total":
        return np.sqrt(float(squared.sum()))
    total = 0.0
    for root in np.sqrt(squared.astype(float)):
        total += root
    return total


def mean_of_the_k_smallest(b, A, k, name):
    total, nearest = 0.0, sorted(definition(b, x, name) for x in A)[:k]
    for x in nearest:
        total += x
    return total / len(nearest)


def random_traces(n, longest, width=128, index=0):
    rng = generator(3, 0, index, Purpose.EPISODE)
    return [rng.integers(0, 256, (rng.integers(1, longest + 1), width), np.uint8) for _ in range(n)]


def related_traces(n, longest, width=128):
    """One game played again and again: the same for a while, then a few bytes differ."""
    rng = generator(4, 0, 0, Purpose.EPISODE)
    game = np.cumsum(rng.integers(0, 2, (longest, width)), axis=0).astype(np.uint8)
    played = []
    for _ in range(n):
        T = int(rng.integers(longest // 2, longest + 1))
        trace, parting = game[:T].copy(), int(rng.integers(T))
        trace[parting:, : rng.integers(1, 20)] += np.uint8(rng.integers(1, 9))
        played.append(trace)
    return played


@pytest.mark.parametrize("name", DISTANCES)
@given(a=traces(), b=traces())
def test_e15_a_distance_is_the_definition_whatever_the_lengths(name, a, b):
    assert novelty(a, [b], 1, name) == definition(a, b, name)
    assert novelty(b, [a], 1, name) == definition(a, b, name)


@pytest.mark.parametrize("name", DISTANCES)
@given(a=traces(), b=traces(), more=st.integers(0, 5))
def test_e15_a_last_state_that_is_repeated_changes_nothing(name, a, b, more):
    longer = np.concatenate([a, np.repeat(a[-1:], more, axis=0)])
    if len(longer) <= max(len(a), len(b)):
        assert novelty(longer, [b], 1, name) == novelty(a, [b], 1, name)
    assert novelty(longer, [a], 1, name) == 0


@pytest.mark.parametrize("name", DISTANCES)
@given(b=traces(), A=st.lists(traces(), min_size=1, max_size=12), k=st.integers(1, 15))
def test_novelty_is_the_mean_distance_to_the_k_nearest_traces(name, b, A, k):
    assert novelty(b, A, k, name) == mean_of_the_k_smallest(b, A, k, name)


@given(b=traces(), A=st.lists(traces(), min_size=1, max_size=12), k=st.integers(1, 15))
def test_novelty_does_not_depend_on_the_order_of_the_traces(b, A, k):
    assert novelty(b, A, k, "ram") == novelty(b, A[::-1], k, "ram") == nses.novelty(b, A, k, "ram")


@pytest.mark.parametrize("make", [random_traces, related_traces])
@pytest.mark.parametrize("root", [True, False])
def test_stopping_early_gives_the_bits_of_looking_at_every_step(make, root):
    *A, b = map(as_trace, make(40, 300))
    whole = np.sort([distance(b, x, root, np.inf) for x in A])
    for k in (1, 5, 40):
        for order in (A, A[::-1]):
            np.testing.assert_array_equal(k_nearest_traces(b, order, k, root)[:39], whole[:k])


def test_a_distance_stops_as_soon_as_it_is_too_far():
    a, b = np.zeros((1000, 128), np.uint8), np.full((1000, 128), 3, np.uint8)
    step = np.sqrt(128 * 9.0)
    assert distance(a, b, True, np.inf) == pytest.approx(1000 * step)
    assert 10 * step <= distance(a, b, True, 10 * step) <= 11 * step
    assert distance(a, b, False, 10 * 1152.0) == 10 * 1152


def test_squares_are_exact_up_to_the_widest_state():
    a, b = np.zeros((2, WIDEST), np.uint8), np.full((3, WIDEST), 255, np.uint8)
    assert distance(a, b, False, np.inf) == 3 * 255**2 * WIDEST
    assert novelty(a, [b], 1, "ram") == 3 * 255 * np.sqrt(WIDEST)


def test_traces_of_real_size_agree_with_the_definition():
    *A, b = random_traces(6, 5000)
    for name in DISTANCES:
        assert novelty(b, A, 3, name) == mean_of_the_k_smallest(b, A, 3, name)


def test_a_list_of_traces_gives_a_number_each_and_one_trace_gives_a_number():
    A, b = random_traces(9, 30), random_traces(4, 30, index=1)
    N = novelty(b, A, 3, "ram")
    assert N.shape == (4,)
    assert N.tolist() == [novelty(x, A, 3, "ram") for x in b]
    assert isinstance(novelty(b[0], A, 3, "ram"), float)
    assert N.tolist() == novelty(tuple(b), archive_of(A), 3, "ram").tolist()
    assert novelty([], A, 3, "ram").shape == (0,)
    same_length = np.stack([x[:1] for x in b])
    assert novelty(same_length, A, 3, "ram").shape == (4,)


@pytest.mark.parametrize("layout", [np.asfortranarray, lambda x: x.repeat(2, axis=0)[::2]])
def test_the_layout_in_memory_does_not_matter(layout):
    b, *A = random_traces(4, 30)
    expected = novelty(b, A, 3, "ram")
    assert novelty(layout(b), [layout(x) for x in A], 3, "ram") == expected


def test_e8_an_empty_archive_makes_every_trace_equally_unsurprising():
    b = random_traces(2, 9)
    for nothing in ([], archive_of([])):
        assert novelty(b[0], nothing, 3, "ram") == 0
        assert novelty(b, nothing, 3, "ram").tolist() == [0, 0]


NO_TRACES = {
    "no steps": np.empty((0, 4), np.uint8),
    "no bytes": np.empty((2, 0), np.uint8),
    "too wide": np.empty((1, WIDEST + 1), np.uint8),
    "numbers": np.zeros((2, 4)),
    "a state": np.zeros(4, np.uint8),
    "text": "trace",
}


@pytest.mark.parametrize("what", NO_TRACES)
def test_e15_what_is_no_trace_is_refused(what):
    good, bad = np.zeros((2, 4), np.uint8), NO_TRACES[what]
    for b, A in (([bad], [good]), (good, [bad])):
        with pytest.raises(ValueError, match=r"a trace must be a uint8 array .*, got "):
            novelty(b, A, 1, "ram")


def test_states_of_another_width_are_refused_before_compiled_code_sees_them():
    narrow, wide = np.zeros((2, 4), np.uint8), np.zeros((2, 5), np.uint8)
    for b, A in ((wide, [narrow]), (narrow, [narrow, wide]), ([narrow, wide], [])):
        with pytest.raises(ValueError, match=r"same number of bytes, got 4 and 5"):
            novelty(b, A, 1, "ram")


def test_distances_of_vectors_and_of_traces_are_not_mixed_up():
    trace, vector = np.zeros((2, 4), np.uint8), [0.0, 1.0]
    with pytest.raises(ValueError, match="distance between traces, but the archive holds vectors"):
        novelty(trace, archive_of([vector]), 1, "ram")
    with pytest.raises(ValueError, match="distance between vectors, but the archive holds traces"):
        novelty(vector, archive_of([trace]), 1, "euclidean")


def test_e16_traces_of_100_000_steps_are_compared_without_copies():
    rng = generator(0, 0, 0, Purpose.EPISODE)
    a, b = (rng.integers(0, 256, (100_000, 128), np.uint8) for _ in range(2))
    A = archive_of([a])
    novelty(b[:1], A, 1, "ram")  # compiles
    tracemalloc.start()
    N = novelty(b, A, 1, "ram")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1 << 20
    assert definition(a, b, "ram") == N
