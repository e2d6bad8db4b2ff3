"""Captions: what stands below the pictures of a video."""

import numpy as np
import pytest

from nses.experiment.export.captions import SMALLEST, WIDEST, Frame, fill, sheet_of


@pytest.mark.parametrize(
    ("shape", "count", "size"),
    [
        ((210, 160, 3), 1, (480, 630 + 60)),  # enlarged by 3
        ((480, 480, 3), 5, (3 * 480 + 16, 2 * (480 + 60) + 8)),
        ((401, 601, 3), 1, (602, 401 + 75)),  # even
        ((1000, 4000, 3), 1, (1920, 480 + 78)),  # reduced
        ((2, 2, 3), 1, (400, 400 + 48)),
    ],
)
def test_sheets_are_even_legible_and_not_too_wide(shape, count, size):
    sheet = sheet_of(shape, count)
    assert sheet.size == size
    assert sheet.columns * sheet.width <= WIDEST
    assert min(shape[:2]) >= SMALLEST or sheet.width % shape[1] == 0
    frame = Frame(np.full(shape, 255, np.uint8), 12, 3.25, 1.5, 30.0)
    filled = fill(sheet, [frame] * count, ["a name"] * count, "a note")
    assert (filled.shape, filled.dtype) == ((size[1], size[0], 3), np.uint8)
    assert (filled[: sheet.height, : sheet.width] == 255).all()  # nothing stands on the picture
    caption = filled[sheet.height : sheet.cell[1], : sheet.width]
    assert (caption.max(axis=2) > 200).mean() > 0.005


def test_captions_differ_where_the_numbers_do():
    sheet, picture = sheet_of((400, 400, 3), 1), np.zeros((400, 400, 3), np.uint8)
    first = fill(sheet, [Frame(picture, 1, 2.0, 0.5, 30.0)], ["best"])
    for other, title in (
        (Frame(picture, 2, 2.0, 0.5, 30.0), "best"),
        (Frame(picture, 1, 2.01, 0.5, 30.0), "best"),
        (Frame(picture, 1, 2.0, 0.6, 30.0), "best"),
        (Frame(picture, 1, 2.0, 0.5, 30.0), "final"),
    ):
        assert (fill(sheet, [other], [title]) != first).any()


def test_a_long_name_is_written_smaller_and_stays_in_its_own_cell():
    sheet, picture = sheet_of((400, 400, 3), 2), np.zeros((400, 400, 3), np.uint8)
    now = [Frame(picture, 1, 2.0, 0.5, 30.0)] * 2
    name = "generation:1200:candidate:9999, episode 10 of 10"
    long, short = (fill(sheet, now, [title, "best"]) for title in (name, "best"))
    np.testing.assert_array_equal(long[:, 408:], short[:, 408:])
