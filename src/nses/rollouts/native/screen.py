"""Two screens of an Atari game to one grey image of 84 × 84, as Pillow would make it, compiled."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from nses.core.compiled import compiled
from nses.errors import UsageError

SIDE, STACK = 84, 4
WIDTH = 160  # of every screen
WORDS = WIDTH // 8
ACROSS, DOWN = 4, 6  # source pixels of one grey pixel, at most
TALLEST = SIDE * DOWN // 2  # screen
LUMA = (0.299, 0.587, 0.114)
PAL_HEIGHT = 250  # of the screens of the European games; the others are NTSC, 210 lines or so

# The colors that the emulator's getScreenRGB shows for the even bytes of getScreen, in hexadecimal.
NTSC = """
0000004a4a4a6f6f6f8e8e8eaaaaaac0c0c0d6d6d6ececec48480069690f86861da2a22abbbb35d2d240e8e84afcfc54
7c2c00904811a26221b47a30c3903dd2a44adfb755ecc860901c00a33915b55328c66c3ad5824ae39759f0aa67fcbc74
940000a71a1ab83232c84848d65c5ce46f6ff08080fc909084006497197aa8308fb846a2c659b3d46cc3e07cd2ec8ce0
50008468199a7d30ad9246c0a459d0b56ce0c57ceed48cfc140090331aa34e32b56848c67f5cd5956fe3a980f0bc90fc
000094181aa72d32b84248c8545cd6656fe47580f08490fc001c88183b9d2d57b04272c2548ad265a0e175b5ef84c8fc
0030641850802d6d984288b054a0c565b7d975cceb84e0fc00403018624e2d8169429e8254b89965d1ae75e7c284fcd4
0044001a661a32843248a0485cba5c6fd26f80e88090fc90143c00355f18527e2d6e9c4287b7549ed065b4e775c8fc84
3038005059166d762b88923ea0ab4fb7c25fccd86ee0ec7c482c00694d14866a26a28638bb9f47d2b656e8cc63fce070
"""
PAL = """
0000002b2b2b525252767676979797b6b6b6d2d2d2ececec0000002b2b2b525252767676979797b6b6b6d2d2d2ececec
80580096711aab8732be9c48cfaf5cdfc06feed180fce090445c005e791a7693328cac48a0c25cb3d76fc4ea80d4fc90
70340089511aa06b32b68448c99a5cdcaf6fecc280fcd4900064141a803532985248b06e5cc5876fd99e80ebb490fcc8
700014891a35a03252b6486ec95c87dc6f9eec80b4fc90c8005c5c1a7676328e8e48a4a45cb8b86fcbcb80dcdc90ecec
70005c841a74963289a8489eb75cb0c66fc1d380d1e090e0003c70195a892f75a0448eb657a5c968badc79ceec88e0fc
5800706e1a898332a09648b6a75cc9b76fdcc680ecd490fc002070193f892f5aa04474b6578bc968a1dc79b5ec88c8fc
3400804a1a965f32ab7248be835ccf936fdfa280eeb090fc0000881a1a9d3232b04848c25c5cd26f6fe18080ef9090fc
0000002b2b2b525252767676979797b6b6b6d2d2d2ececec0000002b2b2b525252767676979797b6b6b6d2d2d2ececec
"""

f32 = np.float32


def palette_of(height: int) -> NDArray[np.uint8]:
    """The color of every byte of a screen, (256, 3); odd ones are greys, for lines of PAL."""
    colors = np.frombuffer(bytes.fromhex(PAL if height == PAL_HEIGHT else NTSC), np.uint8)
    palette = colors.reshape(128, 3).repeat(2, axis=0)
    palette[1::2] = np.rint(_weighted(palette[1::2], (0.2989, 0.587, 0.114)))[:, None]
    return palette


def grey_of_pairs(palette: NDArray[np.uint8]) -> NDArray[np.float32]:
    """The luma of the per-channel maximum of any two colors, (256, 256)."""
    return _weighted(np.maximum(palette[:, None], palette[None]), LUMA).astype(np.float32)


def _weighted(colors: NDArray[np.uint8], weights: Sequence[float]) -> NDArray[np.float64]:
    """Without BLAS, whose last bits depend on the machine."""
    red, green, blue = np.moveaxis(colors.astype(np.float64), -1, 0)
    return weights[0] * red + weights[1] * green + weights[2] * blue


def taps(size: int, count: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Pillow's BILINEAR from `size` to 84 pixels: the first source of each, (84,), and weights.

    A triangle as wide as two grey pixels; the weights, (84, count), of one pixel sum to 1.
    """
    scale = size / SIDE
    centre = (np.arange(SIDE) + 0.5) * scale
    first = np.clip((centre - scale + 0.5).astype(np.int64), 0, size - count)
    source = first[:, None] + np.arange(count) + 0.5
    weights = np.maximum(1.0 - np.abs(source - centre[:, None]) / scale, 0.0)
    return first, (weights / weights.sum(axis=1, keepdims=True)).astype(np.float32)


class Scanner:
    """Takes grey images of pairs of screens.

    It remembers the last pair: rows that did not change, which are most of them, cost next to
    nothing. No image depends on those before it.
    """

    def __init__(self, height: int, width: int):
        if width != WIDTH or not SIDE <= height <= TALLEST:
            raise UsageError(
                f"a screen must be {WIDTH} pixels wide and {SIDE} to {TALLEST} high, "
                f"got {width} × {height}."
            )
        self.shape = (height, width)
        seen = np.zeros((2, height, width), np.uint8)
        grey = grey_of_pairs(palette_of(height))
        luma = np.zeros((height, width), np.float32)  # of what was seen: byte 0 is black
        image = np.zeros((SIDE, SIDE), np.uint8)
        self.film = (seen, grey, luma, image, *taps(height, DOWN), *taps(width, ACROSS))

    def take(self, screens: NDArray[np.uint8], frames: NDArray[np.uint8]) -> None:
        """Adds the image of two screens, (2, height, 160), to frames, (4, 84, 84), as the last."""
        assert screens.shape == (2, *self.shape)  # compiled code does not check bounds
        assert frames.shape == (STACK, SIDE, SIDE)
        take(screens, frames, *self.film)


@compiled
def take(screens, frames, seen, grey, luma, image, top, down, left, across):
    changed = renew(screens[0], screens[1], seen[0], seen[1], grey, luma)
    shrink(luma, changed, top, down, left, across, image)
    push(image, frames)


@compiled
def push(image, frames):
    """Drops the oldest frame. Slices would be copied first, in case they overlap."""
    new, all_frames = image.reshape(-1).view(np.uint64), frames.reshape(-1).view(np.uint64)
    kept = all_frames.size - new.size
    for i in range(kept):
        all_frames[i] = all_frames[i + new.size]
    for i in range(new.size):
        all_frames[kept + i] = new[i]


@compiled
def renew(first, second, seen_first, seen_second, grey, luma):
    """Brings `luma` up to date, in words of eight bytes; returns which rows changed."""
    changed = np.empty(len(luma), np.bool_)
    new, other_new = first.view(np.uint64), second.view(np.uint64)
    old, other_old = seen_first.view(np.uint64), seen_second.view(np.uint64)
    for y in range(len(luma)):
        difference = np.uint64(0)
        for i in range(WORDS):
            difference |= (new[y, i] ^ old[y, i]) | (other_new[y, i] ^ other_old[y, i])
        changed[y] = difference != 0
        if changed[y]:
            for i in range(WORDS):
                if new[y, i] != old[y, i] or other_new[y, i] != other_old[y, i]:
                    old[y, i], other_old[y, i] = new[y, i], other_new[y, i]
                    for x in range(8 * i, 8 * i + 8):
                        luma[y, x] = grey[first[y, x], second[y, x]]
    return changed


@compiled
def shrink(luma, changed, top, down, left, across, image):
    """Down, then across, rounded once. Sums of a fixed form, so that all processors agree."""
    row = np.empty(WIDTH, np.float32)
    for y in range(SIDE):
        t = top[y]
        same = True
        for i in range(DOWN):
            same &= not changed[t + i]
        if same:
            continue
        d0, d1, d2 = down[y, 0], down[y, 1], down[y, 2]
        d3, d4, d5 = down[y, 3], down[y, 4], down[y, 5]
        r0, r1, r2 = luma[t], luma[t + 1], luma[t + 2]
        r3, r4, r5 = luma[t + 3], luma[t + 4], luma[t + 5]
        for x in range(WIDTH):
            upper, lower = d0 * r0[x] + d1 * r1[x], d4 * r4[x] + d5 * r5[x]
            row[x] = upper + (d2 * r2[x] + d3 * r3[x]) + lower
        for x in range(SIDE):
            i = left[x]
            near = across[x, 0] * row[i] + across[x, 1] * row[i + 1]
            far = across[x, 2] * row[i + 2] + across[x, 3] * row[i + 3]
            image[y, x] = np.uint8((near + far) + f32(0.5))
