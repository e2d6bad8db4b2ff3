from dataclasses import replace

import numpy as np
import pytest

from nses.core.algorithms import ALGORITHMS
from nses.experiment.showing.drawing import ALGORITHM_HUES, HUES, colors_of, shades, tick_texts


def test_later_is_darker():
    member = np.zeros(50, np.int64)
    brightness = shades(member, np.linspace(0, 1, 50)).sum(axis=1)
    assert (np.diff(brightness) < 0).all()
    assert shades(member[:1], np.array([0.5]))[0] == pytest.approx(HUES[0])


def test_a_sixth_member_gets_the_first_hue_again():
    age = np.array([0.5])
    assert (shades(np.array([len(HUES)]), age) == shades(np.array([0]), age)).all()


def test_an_algorithm_has_the_same_colour_wherever_it_is_drawn():
    names = list(ALGORITHM_HUES)
    assert colors_of(names) == list(ALGORITHM_HUES.values())
    assert colors_of(names[3:]) == [ALGORITHM_HUES["nsra-es"]]


def test_a_fifth_algorithm_has_a_colour_of_its_own(monkeypatch):
    for name in ("fifth-es", "sixth-es"):
        monkeypatch.setitem(ALGORITHMS, name, replace(ALGORITHMS["es"], name=name))
    names = [*ALGORITHM_HUES, "fifth-es", "sixth-es"]
    assert len({*colors_of(names)}) == 6
    assert colors_of(names[4:]) == colors_of(names)[4:]  # whoever stands beside it
    assert colors_of(["unheard-of"])[0] in HUES


def test_groups_of_one_algorithm_are_told_apart():
    assert len({*colors_of(["nsra-es"] * 12)}) == 12


def test_ticks_have_as_few_digits_as_tell_where_they_are():
    assert tick_texts([0.0, 0.5, 1.0]) == ["0", "0.5", "1"]
    assert tick_texts([1000.25, 1000.5]) == ["1000.25", "1000.5"]
    assert len({*tick_texts([1e9, 1e9 + 1, 1e9 + 2])}) == 3
