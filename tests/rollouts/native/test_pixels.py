"""Observations of Atari games: however they come, the network sees the same, and what is new."""

import numpy as np

from nses.core.seeding import Purpose, generator
from nses.rollouts.native.convolution import work
from nses.rollouts.native.pixels import BLOCK, BLOCKS, MARGIN, see_bytes, see_frames, see_numbers


def observations(n):
    """Bytes, (84, 84, 4), each a little unlike the one before; the first has much that is black."""
    rng = generator(0, 0, 0, Purpose.EPISODE)
    seen = np.zeros((84, 84, 4), np.uint8)
    seen[:40] = rng.integers(256, size=(40, 84, 4))
    for _ in range(n):
        yield seen.copy()
        row, column, channel = rng.integers((80, 80, 4))
        seen[row : row + 5, column : column + 3, channel] += np.uint8(rng.integers(1, 256))


def blocks_that_differ(a, b):
    padded = np.pad((a != b).any(axis=2), MARGIN)
    return padded.reshape(BLOCKS, BLOCK, BLOCKS, BLOCK).any(axis=(1, 3))


def test_numbers_bytes_and_frames_look_the_same_to_the_network():
    numbers, in_bytes, in_frames = work(2), work(2), work(2)
    before = None
    for seen in observations(12):
        see_numbers(seen.reshape(-1).astype(np.float64), numbers)
        see_bytes(seen.reshape(-1), in_bytes, before is None)
        if before is None:
            see_bytes(seen.reshape(-1), in_frames, True)
            assert in_frames.blocks.all()  # of the first, everything is new
        else:
            see_frames(np.ascontiguousarray(seen.transpose(2, 0, 1)), in_frames)
            expected = blocks_that_differ(seen, before)
            for each in (numbers, in_bytes, in_frames):
                np.testing.assert_array_equal(each.blocks, expected)
        image = np.pad(seen, ((MARGIN, MARGIN), (MARGIN, MARGIN), (0, 0))).reshape(-1)
        for each in (numbers, in_bytes, in_frames):
            np.testing.assert_array_equal(each.x1, image.astype(np.float32))
        before = seen
