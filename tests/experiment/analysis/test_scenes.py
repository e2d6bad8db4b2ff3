import numpy as np
import pytest

from nses.experiment.analysis.scenes import LABELS, Scene, scene_of
from nses.experiment.settings.config import changed
from nses.experiment.settings.recipes import recipe

TRAP = recipe("point-trap", "laptop", "es")


def test_the_walls_of_the_point_trap_stand_where_the_paper_puts_them():
    scene = scene_of(changed(TRAP, {"environment": ("half_width=1.5",)}))
    assert np.allclose(
        scene.walls, [[5.4, 5.6, -1.6, 1.6], [2.4, 5.6, 1.4, 1.6], [2.4, 5.6, -1.6, -1.4]]
    )
    assert scene.start == (0.0, 0.0)


@pytest.mark.parametrize("task", ["point", "swimmer"])
def test_a_control_has_a_start_and_no_walls(task):
    free = recipe(task, "laptop", "es")
    assert scene_of(free) == Scene((), (0.0, 0.0), LABELS)


def test_the_point_that_is_given_a_trap_is_seen_before_it():
    trapped = changed(recipe("point", "laptop", "es"), {"environment": ("half_width=1.75",)})
    assert scene_of(trapped) == scene_of(TRAP)


def test_bodies_have_the_walls_of_their_trap():
    humanoid = scene_of(recipe("humanoid-trap", "laptop", "es"))
    assert np.allclose(
        humanoid.walls, [[5.4, 5.6, -1.5, 1.5], [2.5, 5.5, 1.4, 1.6], [2.5, 5.5, -1.6, -1.4]]
    )
    wide = changed(recipe("humanoid", "laptop", "es"), {"environment": ('trap={"back": 9}',)})
    assert scene_of(wide).walls[0][:2] == pytest.approx((8.9, 9.1))
    assert scene_of(recipe("humanoid", "laptop", "es")) == Scene((), (0.0, 0.0), LABELS)


def test_behaviors_that_are_not_places_have_no_scene():
    other = changed(TRAP, {"behavior": "mean-observation:3,4"})
    assert scene_of(other) == Scene()
    assert scene_of(changed(TRAP, {"behavior": "final:x,y"})) == scene_of(TRAP)


def test_a_task_without_a_scene_gets_an_empty_one():
    assert scene_of(recipe("CartPole-v1", "laptop", "es")) == Scene()
