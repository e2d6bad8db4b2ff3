"""How panels are laid out on a sheet."""

import numpy as np
import pytest

from nses.experiment.analysis.planes import Frame
from nses.experiment.showing.sheets import NARROWEST, WIDEST, Sheet, arranged

SQUARE = Frame(np.zeros(2), np.ones(2), True)
BLANK = Sheet(SQUARE, 1, 1, left=0.75, legend=7, caption="a caption")


def test_a_few_runs_of_each_group_have_a_row_per_group_and_a_column_per_seed():
    layout = arranged([5, 3, 5, 5], BLANK)
    assert (layout.sheet.rows, layout.sheet.columns, layout.by_group) == (4, 5, True)
    assert layout.spots[1] == ((1, 0), (1, 1), (1, 2))


def test_a_long_row_is_broken_and_the_next_group_begins_another():
    layout = arranged([20, 20], BLANK)
    assert layout.by_group
    assert layout.spots[0][-1][0] < layout.spots[1][0][0]
    assert layout.spots[1][0][1] == 0


def test_many_groups_of_one_run_follow_each_other():
    layout = arranged([1] * 12, BLANK)
    assert not layout.by_group
    assert len({spot for spots in layout.spots for spot in spots}) == 12


@pytest.mark.parametrize("counts", [[1], [2], [30], [1] * 30, [2] * 15, [7, 1, 1], [10] * 4])
def test_no_sheet_is_a_strip_and_no_panel_covers_another(counts):
    layout = arranged(counts, BLANK)
    assert NARROWEST <= layout.sheet.width / layout.sheet.height <= WIDEST
    spots = [spot for spots in layout.spots for spot in spots]
    assert len({*spots}) == len(spots) == sum(counts)
    rows, columns = np.array(spots).max(axis=0)
    assert rows < layout.sheet.rows
    assert columns < layout.sheet.columns


def test_equal_scales_keep_shapes_and_others_fill_the_panel():
    wide = Frame(np.zeros(2), np.array([10.0, 1.0]), True)
    for equal in (True, False):
        frame = Frame(wide.low, wide.high, equal)
        sheet = Sheet(frame, 1, 1, left=0.75, legend=1, caption="")
        size = np.ptp(sheet.place([wide.low, wide.high], 0, 0), axis=0)
        assert (size[0] == pytest.approx(10 * size[1])) == equal
        assert (size == pytest.approx(sheet.panel)) != equal
