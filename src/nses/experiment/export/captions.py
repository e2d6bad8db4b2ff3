"""Pictures of episodes with captions below, one or several side by side."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from nses.experiment.export.mp4 import Picture

if TYPE_CHECKING:
    from PIL.ImageDraw import ImageDraw

SMALLEST = 400  # pixels of the shorter side; smaller pictures are enlarged
WIDEST = 1920  # pixels of all columns together; wider sheets are reduced
GAP = 8
INK, FAINT, PAPER = (240, 240, 242), (150, 152, 162), (22, 23, 28)
LARGEST_LETTERS, SMALLEST_LETTERS = 26, 9


@dataclass(frozen=True, eq=False)
class Frame:
    """What an episode looks like after `step` steps."""

    picture: Picture
    step: int
    f: float  # return so far
    seconds: float  # of simulation so far
    fps: float  # pictures per second


@dataclass(frozen=True)
class Sheet:
    """The layout of several pictures of one size."""

    width: int  # of a picture as shown
    height: int
    columns: int
    rows: int

    @property
    def letters(self) -> int:
        """The font size."""
        return min(max(self.width // 24, SMALLEST_LETTERS), LARGEST_LETTERS)

    @property
    def cell(self) -> tuple[int, int]:
        """Width and height of a picture with its caption."""
        return self.width, self.height + 3 * self.letters

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of the sheet; both even, as videos require."""
        width, height = self.cell
        across = self.columns * (width + GAP) - GAP
        down = self.rows * (height + GAP) - GAP
        return across + across % 2, down + down % 2


def sheet_of(shape: tuple[int, ...], count: int) -> Sheet:
    """The sheet for `count` pictures of this shape; small ones are enlarged by a whole factor."""
    height, width = shape[:2]
    columns = math.ceil(math.sqrt(count))
    factor = math.ceil(SMALLEST / min(height, width))
    reduction = min(1.0, WIDEST / (columns * width * factor))
    return Sheet(
        max(1, round(width * factor * reduction)),
        max(1, round(height * factor * reduction)),
        columns,
        math.ceil(count / columns),
    )


def fill(sheet: Sheet, frames: Sequence[Frame], titles: Sequence[str], note: str = "") -> Picture:
    """All frames with their titles; the note stands beside a title if there is room."""
    from PIL import Image, ImageDraw  # a dependency of Matplotlib

    paper = Image.new("RGB", sheet.size, PAPER)
    pen = ImageDraw.Draw(paper)
    width, height = sheet.cell
    for i, (frame, title) in enumerate(zip(frames, titles, strict=True)):
        row, column = divmod(i, sheet.columns)
        left, top = column * (width + GAP), row * (height + GAP)
        picture = Image.fromarray(frame.picture)
        if picture.size != (sheet.width, sheet.height):
            larger = sheet.width >= picture.width
            how = Image.Resampling.NEAREST if larger else Image.Resampling.LANCZOS
            picture = picture.resize((sheet.width, sheet.height), how)
        paper.paste(picture, (left, top))
        _write(pen, sheet, (left, top + sheet.height), frame, title, note)
    return np.asarray(paper)


def _write(
    pen: "ImageDraw", sheet: Sheet, corner: tuple[int, int], frame: Frame, title: str, note: str
) -> None:
    size = sheet.letters
    left, right = corner[0] + size // 2, corner[0] + sheet.width - size // 2
    first, second = corner[1] + size, corner[1] + round(2.2 * size)
    time, step, f = f"{frame.seconds:.1f} s", f"step {frame.step}", f"return {_number(frame.f)}"

    font = _fitting(title, right - left, size)
    pen.text((left, first), title, INK, font, anchor="lm")
    if font.getlength(title) + size + _font(size).getlength(note) <= right - left:
        pen.text((right, first), note, FAINT, _font(size), anchor="rm")
    font = _fitting("   ".join((time, step, f)), right - left, size)
    pen.text((left, second), time, INK, font, anchor="lm")
    pen.text((left + 0.36 * (right - left), second), step, INK, font, anchor="mm")
    pen.text((right, second), f, INK, font, anchor="rm")


def _number(f: float) -> str:
    return f"{f:,.2f}".removesuffix(".00")


def _fitting(text: str, width: int, size: int) -> Any:
    """The largest font, up to this size, in which a text fits into the width."""
    while size > SMALLEST_LETTERS and _font(size).getlength(text) > width:
        size -= 1
    return _font(size)


@cache
def _font(size: int) -> Any:
    """Pillow's built-in font, which is the same on every machine."""
    from PIL import ImageFont

    return ImageFont.load_default(size)
