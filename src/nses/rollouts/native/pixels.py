"""How the network of Atari takes in an observation: what is new in it, in blocks of pixels."""

import numpy as np

from nses.core.compiled import compiled
from nses.rollouts.native.screen import SIDE, STACK

CHANNELS = STACK
MARGIN = 2  # pixels around the image, which are black
BLOCK, BLOCKS = 4, 22  # pixels of a block, blocks of a row: a first window sees 2 × 2 blocks
WIDTH = BLOCK * BLOCKS  # of the image with its margins

f32, u32 = np.float32, np.uint32


@compiled
def see_numbers(observation, work):
    """Takes in an observation, flat in the order (row, column, channel), of any numbers."""
    width = SIDE * CHANNELS
    for r in range(SIDE):
        start = ((r + MARGIN) * WIDTH + MARGIN) * CHANNELS
        values, to = observation[r * width : (r + 1) * width], work.image[start : start + width]
        for j in range(width):
            to[j] = f32(values[j])
    renew(work.image, work.x1, work.blocks)


@compiled
def see_frames(frames, work):
    """The same for bytes, (channel, row, column), after others in bytes."""
    for r in range(SIDE):
        a, b, c, d = frames[0, r], frames[1, r], frames[2, r], frames[3, r]
        start = (r + MARGIN) * WIDTH + MARGIN
        to = work.pixels[start : start + SIDE]
        for j in range(SIDE):
            low, high = u32(a[j]) | u32(b[j]) << u32(8), u32(c[j]) | u32(d[j]) << u32(8)
            to[j] = low | high << u32(16)
    renew_pixels(work.pixels, work.seen, work.x1, work.blocks)


@compiled
def see_bytes(observation, work, first):
    """The same for bytes in the order of `see_numbers`; all of the first one is new."""
    words = observation.view(np.uint32)
    for r in range(SIDE):
        start = (r + MARGIN) * WIDTH + MARGIN
        values, to = words[r * SIDE : (r + 1) * SIDE], work.pixels[start : start + SIDE]
        for j in range(SIDE):
            to[j] = values[j]
    if first:
        for j in range(work.seen.size):
            work.seen[j] = ~work.pixels[j]
    renew_pixels(work.pixels, work.seen, work.x1, work.blocks)


@compiled
def renew(image, x, blocks):
    """x = image; marks the blocks of pixels whose bits have changed."""
    now, before = image.view(np.int32), x.view(np.int32)
    width, size = WIDTH * CHANNELS, BLOCK * CHANNELS
    difference = np.empty(width, np.int32)
    for b in range(BLOCKS):
        difference[:] = 0
        for row in range(b * BLOCK * width, (b + 1) * BLOCK * width, width):
            these, those = now[row : row + width], before[row : row + width]
            for j in range(width):
                difference[j] |= these[j] ^ those[j]
                those[j] = these[j]
        for c in range(BLOCKS):
            bits = 0
            for j in range(c * size, (c + 1) * size):
                bits |= difference[j]
            blocks[b, c] = bits != 0


@compiled
def renew_pixels(pixels, seen, x, blocks):
    """The same for pixels of four bytes: converts only what is in blocks that have changed."""
    size, numbers = BLOCK * CHANNELS, pixels.view(np.uint8)
    difference = np.empty(WIDTH, np.uint32)
    for b in range(BLOCKS):
        difference[:] = 0
        top = b * BLOCK * WIDTH
        for row in range(top, top + BLOCK * WIDTH, WIDTH):
            these, those = pixels[row : row + WIDTH], seen[row : row + WIDTH]
            for j in range(WIDTH):
                difference[j] |= these[j] ^ those[j]
                those[j] = these[j]
        for c in range(BLOCKS):
            bits = u32(0)
            for j in range(c * BLOCK, (c + 1) * BLOCK):
                bits |= difference[j]
            blocks[b, c] = bits != 0
            if blocks[b, c]:
                for row in range(top, top + BLOCK * WIDTH, WIDTH):
                    place = (row + c * BLOCK) * CHANNELS
                    values, to = numbers[place : place + size], x[place : place + size]
                    for j in range(size):
                        to[j] = f32(values[j])
