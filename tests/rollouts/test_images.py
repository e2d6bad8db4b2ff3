"""Which observations are images, and how their axes are read."""

import numpy as np
import pytest
from gymnasium import spaces

from nses.rollouts.images import image_of, images_in


def box(shape, dtype=np.uint8, high=255, low=0):
    return spaces.Box(low, high, shape, dtype)


@pytest.mark.parametrize(
    ("shape", "size"),
    [
        ((64, 48, 3), (64, 48, 3)),
        ((3, 64, 48), (64, 48, 3)),
        ((4, 84, 84), (84, 84, 4)),
        ((7, 7, 3), (7, 7, 3)),
        ((64, 48), (64, 48, 1)),
        ((4, 64, 48, 3), (64, 48, 12)),  # a stack of images
        ((4, 3, 64, 48), (64, 48, 12)),
    ],
)
def test_rows_columns_and_channels_are_found_in_any_order(shape, size):
    image = image_of(box(shape))
    assert image.shape == shape
    assert image.size == size


@pytest.mark.parametrize("space", [box((5, 6, 3), np.float32, 1), box((3, 5, 6), np.float64, 255)])
def test_floats_from_black_to_white_are_images(space):
    assert image_of(space).white == space.high.max()


@pytest.mark.parametrize(
    "space",
    [
        box((128,)),  # the RAM of a game
        box((2, 3)),  # too small for a filter
        box((8, 8), np.uint8, 2),  # a board
        box((8, 8), np.float32, 1),  # a matrix
        box((8, 8, 3), np.float32, np.inf),
        box((8, 8, 3), np.float32, 1, -1),
        box((8, 8, 3), np.int64),
        spaces.Discrete(3),
    ],
    ids=str,
)
def test_other_numbers_are_no_images(space):
    assert image_of(space) is None


def test_an_observation_in_another_order_is_read_as_rows_of_pixels():
    image = image_of(box((2, 3, 4, 5)))
    x = np.arange(120).reshape(2, 3, 4, 5)  # stacked, channels, rows, columns
    pixels = x.ravel()[image.order].reshape(image.size)
    assert image.size == (4, 5, 6)
    np.testing.assert_array_equal(pixels[1, 2], x[:, :, 1, 2].ravel())


def test_images_inside_an_observation_are_named():
    inside = spaces.Dict({"eye": box((8, 8, 3)), "ear": spaces.Discrete(2)})
    assert images_in(spaces.Dict({"head": inside, "hand": box((3,))})) == ["head.eye"]
    assert images_in(box((8, 8, 3))) == [""]
    assert images_in(box((3,))) == []
