"""Scenes: walls, goals and a start, which a user's task brings as plain data."""

from typing import Any

import pytest

from nses.errors import UsageError
from nses.rollouts.behaviors import Behavior, parse_behavior
from nses.rollouts.look import look_of, stages
from nses.rollouts.tasks.scene import NO_SCENE, SCENE, Scene, plain, scene_from
from toys import Corridor, corridor

MAZE = {"walls": [(0, 1, 2, 3)], "goals": [[4, 5, 6, 7]], "start": (0, 0)}
SEEN = Scene(((0.0, 1.0, 2.0, 3.0),), ((4.0, 5.0, 6.0, 7.0),), (0.0, 0.0))
PLACE = Behavior("place", lambda observation, info: [info["x"], 0.0])


class Maze(Corridor):
    metadata = {SCENE: {**MAZE, "behavior": "final-observation"}}


def test_a_scene_survives_the_way_to_a_file_and_back() -> None:
    assert scene_from(MAZE) == SEEN
    assert scene_from(plain(SEEN)) == SEEN
    assert scene_from({}) == scene_from(plain(NO_SCENE)) == NO_SCENE


@pytest.mark.parametrize(
    "data",
    [
        7,
        {"wall": []},
        {"walls": 3},
        {"walls": [(0, 1, 2)]},
        {"goals": [("a", 1, 2, 3)]},
        {"start": (0.0, float("nan"))},
        {"start": (0.0, 10**400)},
        {"walls": [(0, 1, 2, 3)] * 10_001},
        {"behavior": 3},
    ],
)
def test_what_is_no_scene_is_refused_when_the_task_is_made(data: Any) -> None:
    with pytest.raises(UsageError, match="scene"):
        corridor(scene=data)


def test_a_task_or_its_environment_brings_a_scene() -> None:
    assert corridor(behavior=PLACE, scene=MAZE).facts.scene == SEEN
    whole = corridor(make=Maze, behavior=parse_behavior("final-observation"))
    assert whole.facts.scene.walls == SEEN.walls
    assert look_of(dict(stages(whole))).facts == whole.facts  # as another process tells it


def test_a_scene_of_another_behavior_is_not_drawn() -> None:
    assert corridor(make=Maze, behavior=PLACE).facts.scene == NO_SCENE
    other = corridor(behavior=PLACE, scene=MAZE).revised(
        behavior=parse_behavior("final-observation")
    )
    assert other.facts.scene == NO_SCENE


def test_a_behavior_of_one_number_has_no_room_for_a_scene() -> None:
    assert corridor(scene=MAZE).facts.scene == NO_SCENE


def test_the_numbers_of_a_behavior_have_its_own_labels_if_it_has_any() -> None:
    named = Behavior("place", PLACE.probe, labels=("east", "north"))
    assert [corridor(behavior=named).facts.label(i) for i in (0, 1)] == ["east", "north"]
    assert corridor(behavior=PLACE).facts.label(1) == "place 1"
    with pytest.raises(UsageError, match="2 numbers but 1 label"):
        _ = corridor(behavior=Behavior("place", PLACE.probe, labels=("east",))).facts
    with pytest.raises(UsageError, match="labels must be a tuple of names"):
        Behavior("place", PLACE.probe, labels="east")  # type: ignore[arg-type]
