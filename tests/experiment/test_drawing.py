import numpy as np
import pytest

from nses.experiment.drawing import HUES, shades


def test_later_is_darker():
    member = np.zeros(50, np.int64)
    brightness = shades(member, np.linspace(0, 1, 50)).sum(axis=1)
    assert (np.diff(brightness) < 0).all()
    assert shades(member[:1], np.array([0.5]))[0] == pytest.approx(HUES[0])


def test_a_sixth_member_gets_the_first_hue_again():
    age = np.array([0.5])
    assert (shades(np.array([len(HUES)]), age) == shades(np.array([0]), age)).all()
