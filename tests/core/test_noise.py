import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nses.core import noise
from nses.core.noise import BLOCK, Epsilon, fill_table, perturb, sample, table_size
from nses.core.seeding import Purpose, generator
from nses.errors import UsageError

TABLE = np.empty(1 << 14, np.float32)
fill_table(TABLE, 7)
LONG = np.empty(1 << 15, np.float32)
fill_table(LONG, 7)


def weights(n):
    return generator(0, 0, n, Purpose.POLICY_INIT).standard_normal(n)


def matrix(epsilon, n):
    """epsilon of all candidates, (n, d), mirrored."""
    return np.array([(-1) ** i * epsilon.row(i // 2).astype(np.float64) for i in range(n)])


@given(st.integers(1, 3000), st.integers(1, 20).map(lambda pairs: 2 * pairs))
def test_the_weighted_sum_is_a_matrix_product(d, n):
    epsilon = sample(TABLE, d, n, seed=1, generation=2)
    F = weights(n)
    np.testing.assert_allclose(epsilon.weighted_sum(F), F @ matrix(epsilon, n), atol=1e-12)


@pytest.mark.parametrize("n", [2, 6, 8, 10, 18, 22])
def test_rows_are_added_four_at_a_time_and_the_rest_one_by_one(n):
    epsilon, F = sample(TABLE, 5, n, seed=1, generation=2), weights(n)
    w, rows = F[::2] - F[1::2], [epsilon.row(i).astype(np.float64) for i in range(n // 2)]
    g, whole = np.zeros(5), n // 2 // 4 * 4
    for i in range(0, whole, 4):
        g += (
            w[i] * rows[i]
            + w[i + 1] * rows[i + 1]
            + w[i + 2] * rows[i + 2]
            + w[i + 3] * rows[i + 3]
        )
    for i in range(whole, n // 2):
        g += w[i] * rows[i]
    assert epsilon.weighted_sum(F).tobytes() == g.tobytes()


def test_the_weighted_sum_does_not_depend_on_blocks():
    d, F = 3000, weights(22)
    epsilon = sample(TABLE, d, 22, seed=1, generation=2)
    whole = epsilon.weighted_sum(F)
    for start, stop in [(0, 1), (0, 1024), (5, 2500), (1023, 1025), (2999, 3000)]:
        part = Epsilon(TABLE, epsilon.offsets + start, stop - start)
        np.testing.assert_array_equal(part.weighted_sum(F), whole[start:stop])


@given(
    st.integers(1, 20_000),
    st.integers(1, 9).map(lambda pairs: 2 * pairs),
    st.integers(2, 9),
)
def test_any_number_of_threads_gives_the_same_bits(d, n, threads):
    epsilon, F = sample(LONG, d, n, seed=1, generation=2), weights(n)
    alone = epsilon.weighted_sum(F)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(noise, "WORTH_THREADS", 0)
        assert epsilon.weighted_sum(F, threads).tobytes() == alone.tobytes()


def test_threads_are_started_only_where_they_pay(monkeypatch):
    started = []
    pool = noise.ThreadPoolExecutor
    monkeypatch.setattr(
        noise, "ThreadPoolExecutor", lambda max_workers: (started.append(max_workers), pool())[1]
    )

    def started_by(d, n, *threads):
        started.clear()
        sample(LONG, d, n, seed=1, generation=2).weighted_sum(weights(n), *threads)
        return started.copy()

    assert started_by(100, 20, 3) == []
    assert started_by(20_000, 1000, 2) == [2]
    assert started_by(20_000, 1000, 1) == started_by(20_000, 1000) == []
    assert 100 * 10 < noise.WORTH_THREADS < 20_000 * 500
    monkeypatch.setattr(noise, "WORTH_THREADS", 100 * 10)
    assert started_by(100, 20, 3) == [3]
    assert started_by(99, 20, 3) == []
    assert noise.SHARE % 1024 == 0  # whole blocks of the sum


@pytest.mark.parametrize("n", [1, 18, 19, 21, 22])
def test_a_weight_for_each_candidate_is_needed(n):
    with pytest.raises(ValueError, match=f"F must have 20 numbers, got {n}"):
        sample(TABLE, 5, 20, seed=1, generation=2).weighted_sum(weights(n))


def test_equal_weights_of_a_mirrored_pair_cancel_exactly():
    epsilon = sample(TABLE, 100, 20, seed=1, generation=2)
    assert not epsilon.weighted_sum(np.repeat(weights(10), 2)).any()


@pytest.mark.parametrize("sign", [1, -1])
def test_a_candidate_is_theta_plus_or_minus_sigma_epsilon_in_float32(sign):
    epsilon = sample(TABLE, 1000, 2, seed=1, generation=2).row(0)
    theta, out = TABLE[:1000], np.empty(1000, np.float32)
    perturb(theta, sign * 0.02, epsilon, out)
    np.testing.assert_array_equal(out, theta + np.float32(sign * 0.02) * epsilon)


def test_epsilon_refers_to_the_table():
    epsilon = sample(TABLE, 100, 20, seed=1, generation=2)
    assert epsilon.row(3).shape == (100,)
    assert np.shares_memory(epsilon.row(3), TABLE)


@pytest.mark.parametrize("d", [1, 1000, TABLE.size - 1, TABLE.size])
def test_every_place_of_the_table_can_be_drawn_and_none_beyond_it(d):
    offsets = sample(TABLE, d, 20_000, seed=1, generation=2).offsets
    assert offsets.shape == (10_000,)
    assert offsets.min() >= 0
    assert offsets.max() + d <= TABLE.size
    if d >= TABLE.size - 1:
        assert set(offsets) == set(range(TABLE.size - d + 1))


def test_noise_is_a_function_of_seed_and_generation():
    offsets = [
        tuple(sample(TABLE, 10, 20, s, t).offsets) for s, t in [(1, 2), (1, 2), (1, 3), (2, 2)]
    ]
    assert offsets[0] == offsets[1]
    assert len(set(offsets)) == 3


def test_the_table_holds_standard_normal_numbers():
    assert abs(TABLE.mean()) < 4 / np.sqrt(TABLE.size)
    assert abs(TABLE.std() - 1) < 4 / np.sqrt(2 * TABLE.size)
    assert len(np.unique(TABLE)) > 0.99 * TABLE.size


def test_a_longer_table_begins_like_a_shorter_one():
    long = np.empty(BLOCK + 1000, np.float32)
    fill_table(long, 7)
    np.testing.assert_array_equal(long[: TABLE.size], TABLE)
    assert not np.array_equal(long[BLOCK:], long[:1000])


@pytest.mark.parametrize(("blocks", "threads"), [(1, 1), (3, 3), (4, 4), (9, 4)])
def test_up_to_four_threads_fill_the_table_in_any_order(monkeypatch, blocks, threads):
    started = []

    class Backwards(noise.ThreadPoolExecutor):
        def __init__(self, max_workers):
            started.append(max_workers)
            super().__init__(max_workers)

        def map(self, function, items):
            return [function(item) for item in reversed(items)]

    monkeypatch.setattr(noise, "BLOCK", 8)
    forwards, backwards = np.empty((2, 8 * blocks - 3), np.float32)
    fill_table(forwards, 7)
    monkeypatch.setattr(noise, "ThreadPoolExecutor", Backwards)
    fill_table(backwards, 7)
    assert started == [threads]
    np.testing.assert_array_equal(backwards, forwards)


def test_golden_numbers_of_the_second_block():
    # These change only with a line in the CHANGELOG: every run depends on them.
    table = np.empty((1 << 20) + 2, np.float32)
    fill_table(table, 7)
    golden = [0.9301717281341553, -0.15871025621891022, 0.8482142090797424, -0.729686975479126]
    assert [*table[:2].tolist(), *table[-2:].tolist()] == golden


@pytest.mark.parametrize(
    ("d", "bits"),
    [(1, 20), (8192, 20), (8193, 21), (166_673, 25), (1 << 19, 26), (1 << 26, 26)],
)
def test_the_size_of_the_table_follows_from_the_number_of_parameters(d, bits):
    assert table_size(d) == 1 << bits


def test_more_parameters_than_the_largest_table_has_numbers_are_refused():
    with pytest.raises(UsageError, match="at most 67,108,864 parameters"):
        table_size((1 << 26) + 1)


@given(st.integers(1, 10**7))
def test_the_table_is_a_power_of_two_that_has_room_for_many_different_slices(d):
    size = table_size(d)
    assert size.bit_count() == 1
    assert 1 << 20 <= size <= 1 << 26
    assert size >= min(128 * d, 1 << 26)
