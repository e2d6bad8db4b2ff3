"""Behaviors as points in a plane."""

import numpy as np
import pytest

from nses.experiment.analysis.planes import (
    GENERATION,
    MOST_AXES,
    Plane,
    axes_of,
    frame_of,
    label_on,
    plane_of,
    trail_of,
)
from nses.experiment.analysis.stories import story_of
from nses.rollouts.tasks.scene import NO_SCENE, Scene
from pretended import make_run


def story(path, behaviors, **settings):
    return story_of(make_run(path, range(len(behaviors)), behaviors=behaviors, **settings))


OTHER = {"behavior": "final-observation"}  # than the places of which the task has a scene


def test_one_number_is_drawn_against_generations(tmp_path):
    one = story(tmp_path / "a", [[5.0], [7.0]], behavior="final:x")
    plane = plane_of([one])
    assert plane == Plane(GENERATION, 0)
    assert trail_of(one, plane).b.tolist() == [[1.0, 5.0], [2.0, 7.0]]
    assert [label_on(one, axis) for axis in (plane.x, plane.y)] == ["generation", "final x"]


def test_of_many_numbers_the_two_with_the_widest_range_are_drawn_in_order(tmp_path):
    b = [[0.0, 3.0, 0.0, -9.0], [1.0, 0.0, 0.5, 9.0], [0.0, float("nan"), 99.0, 0.0]]
    many = story(tmp_path / "a", b, **OTHER)
    assert plane_of([many]) == Plane(1, 3)
    assert trail_of(many, Plane(1, 3)).b.tolist() == [[3.0, -9.0], [0.0, 9.0]]
    assert axes_of([many]) == [0, 1, 2, 3]
    assert label_on(many, 3) == "final observation 3"


def test_of_very_many_numbers_the_widest_can_be_chosen(tmp_path):
    widths = np.arange(40.0)
    wide = story(tmp_path / "a", [(0 * widths).tolist(), widths.tolist()], **OTHER)
    assert axes_of([wide]) == list(range(40 - MOST_AXES, 40))


def test_a_scene_decides_the_plane(tmp_path):
    places = story(tmp_path / "a", [[0.0, 0.0], [1.0, 1.0]])
    assert plane_of([places]) == Plane(0, 1)
    assert plane_of([places]).has_scene


def test_traces_and_behaviors_of_different_lengths_have_no_plane(tmp_path):
    traces = story_of(make_run(tmp_path / "a", [1.0], behaviors=False))
    assert plane_of([traces]) is None
    one, two = story(tmp_path / "b", [[1.0]]), story(tmp_path / "c", [[1.0, 2.0]])
    assert plane_of([one, two]) is None


def test_a_run_without_a_generation_has_a_plane(tmp_path):
    empty = story_of(make_run(tmp_path / "a", [], **OTHER))
    assert plane_of([empty]) == Plane(0, 1)


@pytest.mark.parametrize(
    ("b", "scene", "equal"),
    [
        ([[0, 0], [3, 2]], NO_SCENE, True),
        ([[0, 0], [3, 0.02]], NO_SCENE, False),
        ([[0, 0], [3, 0.02]], Scene(start=(0.0, 0.0)), True),
    ],
)
def test_scales_are_equal_unless_that_makes_a_strip(b, scene, equal):
    frame = frame_of(np.array(b, float), Plane(0, 1), scene)
    assert frame.equal == equal
    margins = np.array(b[1]) - frame.high
    assert np.allclose(margins, margins[0]) == equal


def test_walls_and_goals_are_in_the_frame_of_their_plane_alone():
    scene = Scene(((0, 1, 0, 50),), ((-20, -10, 0, 1),))
    b = np.array([[0.0, 0.0], [3.0, 2.0]])
    frame = frame_of(b, Plane(0, 1), scene)
    assert frame.low[0] < -20
    assert frame.high[1] > 50
    assert frame_of(b, Plane(1, 2), scene).high[1] < 3


@pytest.mark.parametrize("place", [0.0, 0.5, 1e9])
def test_behaviors_that_are_all_the_same_have_room_around_them(place):
    for plane in (Plane(0, 1), Plane(GENERATION, 0)):
        frame = frame_of(np.full((3, 2), place), plane, NO_SCENE)
        assert (frame.high - frame.low > 1e-3).all()
