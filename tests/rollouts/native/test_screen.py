import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nses.rollouts.native.screen import LUMA, SIDE, TALLEST, WIDTH, Scanner, palette_of, taps

Image = pytest.importorskip("PIL.Image")
seeds = st.integers(0, 2**31 - 1)


def by_pillow(screens):
    """RGB maximum of the two screens, luma, BILINEAR: grey as real numbers."""
    brightest = palette_of(screens.shape[1])[screens].max(axis=0)
    return np.array(Image.fromarray(luma_of(brightest)).resize((SIDE, SIDE), Image.BILINEAR))


def luma_of(rgb):
    return (rgb @ np.array(LUMA)).astype(np.float32)


def image_of(screens, camera=None):
    frames = np.zeros((4, SIDE, SIDE), np.uint8)
    (camera or Scanner(*screens.shape[1:])).take(screens, frames)
    return frames[-1]


def noise(seed, height=210, colors=256):
    rng = np.random.default_rng(seed)
    return rng.choice(rng.integers(256, size=colors), (2, height, WIDTH)).astype(np.uint8)


@given(seeds, st.integers(SIDE, TALLEST), st.sampled_from([2, 5, 256]))
@settings(deadline=None, max_examples=25)
def test_images_are_those_of_pillow_for_any_screen_of_any_height(seed, height, colors):
    screens = noise(seed, height, colors)
    expected = by_pillow(screens)
    assert np.abs(image_of(screens) - expected).max() < 0.5 + 1e-3  # the nearest grey


@given(st.lists(seeds, min_size=2, max_size=5), seeds)
@settings(deadline=None, max_examples=15)
def test_an_image_does_not_depend_on_those_before_it(before, seed):
    camera, rng = Scanner(210, WIDTH), np.random.default_rng(seed)
    screens = noise(before[0])
    for i in before:
        rows = rng.random(210) < rng.random()  # some rows change, and some change back
        screens = np.where(rows[:, None], noise(i), screens)
        np.testing.assert_array_equal(image_of(screens, camera), image_of(screens))


def test_which_of_the_two_screens_came_first_does_not_matter():
    screens = noise(7)
    np.testing.assert_array_equal(image_of(screens), image_of(screens[::-1].copy()))


def test_a_change_in_a_single_pixel_is_seen_in_either_screen():
    camera, screens = Scanner(210, WIDTH), np.zeros((2, 210, WIDTH), np.uint8)
    assert not image_of(screens, camera).any()
    for which in (0, 1):
        screens[:] = 0
        screens[which, 209, 159] = 0x0E  # white
        image = image_of(screens, camera)
        assert image[-1, -1] > 30
        assert np.count_nonzero(image) == 1


def test_frames_move_up_and_the_oldest_goes():
    camera, frames = Scanner(210, WIDTH), np.zeros((4, SIDE, SIDE), np.uint8)
    images = [image_of(noise(i)) for i in range(6)]
    for i in range(6):
        camera.take(noise(i), frames)
    np.testing.assert_array_equal(frames, images[2:])


@pytest.mark.parametrize("size", [SIDE, 160, 210, 214, 220, 230, 250, TALLEST])
def test_weights_sum_to_one_and_stay_on_the_screen(size):
    first, weights = taps(size, 4 if size == WIDTH else 6)
    assert weights.sum(axis=1) == pytest.approx(np.ones(SIDE), abs=1e-6)
    assert first.min() >= 0
    assert first.max() + weights.shape[1] <= size


def test_byte_0_is_black_in_both_palettes():
    for height in (210, 250):
        assert not palette_of(height)[0].any()


@pytest.mark.parametrize("shape", [(210, 161), (83, 160), (253, 160)])
def test_screens_of_another_size_are_refused(shape):
    with pytest.raises(ValueError, match=rf"160 pixels wide and 84 to 252 high.*{shape[1]} × "):
        Scanner(*shape)
