import numpy as np
import pytest

from nses.core.seeding import (
    Purpose,
    check_fresh,
    episode_seeds,
    evaluation_seeds,
    generator,
    is_exact,
)
from nses.errors import UsageError


@pytest.mark.parametrize(
    ("episodes", "seed", "message"),
    [
        (0, 0, "episodes must be from 1 to 1,000,000, got 0"),
        (10**12, 0, "got 1,000,000,000,000"),
        (1, -1, "seed must be at least 0, got -1"),
    ],
)
def test_fresh_episodes_need_a_number_and_a_seed(episodes, seed, message):
    with pytest.raises(UsageError, match=message):
        check_fresh(episodes, seed)
    check_fresh(1, 0)
    check_fresh(10**6, 0)


def test_one_start_can_be_all_there_are():
    assert is_exact(1, [5])
    assert not is_exact(1, [])


def test_the_same_arguments_give_the_same_numbers():
    first, second = (generator(3, 5, 7, Purpose.EPISODE).random(4) for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_each_of_the_four_arguments_matters():
    arguments = [
        (3, 5, 7, Purpose.EPISODE),
        (4, 5, 7, Purpose.EPISODE),
        (3, 6, 7, Purpose.EPISODE),
        (3, 5, 8, Purpose.EPISODE),
        (3, 7, 5, Purpose.EPISODE),
        (3, 5, 7, Purpose.SELECTION),
    ]
    assert len({generator(*a).random() for a in arguments}) == len(arguments)


def test_purposes_are_never_renumbered():
    names = (
        "NOISE_TABLE POLICY_INIT SELECTION PERTURBATION EPISODE EVALUATION MOMENTS RETEST "
        "FRESH_BEHAVIOR ACTION_NOISE FRESH_EPISODES REFERENCE"
    )
    assert [purpose.name for purpose in Purpose][:12] == names.split()
    assert [purpose.value for purpose in Purpose][:12] == list(range(1, 13))


def test_the_numbers_are_philox_seeded_by_purpose_generation_and_index():
    sequence = np.random.SeedSequence(3, spawn_key=(5, 1, 2))
    expected = np.random.Generator(np.random.Philox(sequence)).random(3)
    np.testing.assert_array_equal(generator(3, 1, 2, Purpose.EPISODE).random(3), expected)


def test_golden_random_numbers():
    assert generator(0, 0, 0, Purpose.SELECTION).random() == 0.8486785459596162
    assert episode_seeds(0, 0, 0, Purpose.EPISODE, 3).tolist() == [
        1326501419,
        120906949,
        1023568242,
    ]


def test_an_episode_seed_does_not_depend_on_how_many_there_are():
    many = episode_seeds(1, 2, 3, Purpose.EPISODE, 1000)
    np.testing.assert_array_equal(episode_seeds(1, 2, 3, Purpose.EPISODE, 10), many[:10])


def test_episode_seeds_have_31_bits():
    seeds = episode_seeds(1, 2, 3, Purpose.EPISODE, 10_000)
    assert seeds.min() >= 0
    assert 1 << 30 < seeds.max() < 1 << 31


def test_an_evaluation_plays_each_start_once_if_it_has_episodes_enough():
    arguments, starts = (1, 2, 3, Purpose.RETEST), (9, 4)
    for n in (2, 3, 4):
        assert evaluation_seeds(*arguments, n, starts).tolist() == [9, 4]
        assert is_exact(n, starts)
    for n, known in ((1, starts), (4, ())):
        drawn = episode_seeds(*arguments, n)
        np.testing.assert_array_equal(evaluation_seeds(*arguments, n, known), drawn)
        assert not is_exact(n, known)
