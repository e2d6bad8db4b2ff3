"""What no bound can express is said in a sentence."""

import pytest

from nses.experiment.settings.rules import even, layers


@pytest.mark.parametrize(("n", "try_"), [(7, 8), (0, 2), (-3, 2)])
def test_an_odd_number_of_candidates_is_told_the_next_even_one(n, try_):
    assert list(even(8)) == []
    (sentence,) = even(n)
    assert sentence.endswith(f"got n={n}; try n={try_}.")


def test_a_layer_has_at_least_one_unit():
    assert list(layers(())) == list(layers((3, 1))) == []
    assert list(layers((3, 0)))
