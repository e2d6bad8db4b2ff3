"""Numbers of a vector by their places."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nses.errors import UsageError
from nses.rollouts.numbers import places_of, stretches_of


@pytest.mark.parametrize(
    ("keys", "places"),
    [
        (("0",), [0]),
        (("5", "1", "1:3"), [1, 2, 5]),
        ((":2", "4:"), [0, 1, 4, 5]),
        ((":",), [0, 1, 2, 3, 4, 5]),
    ],
)
def test_places_are_single_ones_or_ranges_as_in_python(keys, places):
    assert places_of(keys, 6).tolist() == places


@pytest.mark.parametrize("key", ["6", "4:4", "3:2", "0:7", ":0"])
def test_a_place_that_is_not_there_is_refused(key):
    with pytest.raises(UsageError, match=rf"{key} names no number: the observation has 6"):
        places_of((key,), 6)


@pytest.mark.parametrize("key", ["image", "-1", "1:2:3", "٣", "1" * 40])
def test_what_is_no_place_is_refused_with_an_example(key):
    with pytest.raises(UsageError, match=r"such as 0:3 or 0,2, got"):
        places_of((key,), 6)


@given(st.sets(st.integers(0, 30)))
def test_stretches_are_the_places_again_and_never_touch(places):
    slices = list(stretches_of(np.array(sorted(places), np.intp)))
    assert [i for s in slices for i in range(s.start, s.stop)] == sorted(places)
    assert all(a.stop < b.start for a, b in pairwise(slices))
