import numpy as np
import pytest

from nses.experiment.analysis.scenes import built_in_scene, scene_of
from nses.experiment.settings.config import changed
from nses.experiment.settings.recipes import recipe
from nses.rollouts.tasks.scene import Scene
from pretended import make_run

TRAP = recipe("point-trap", "laptop", "es")


def test_the_walls_of_the_point_trap_stand_where_the_paper_puts_them():
    scene = built_in_scene(changed(TRAP, {"environment": ("half_width=1.5",)}))
    assert np.allclose(
        scene.walls, [[5.4, 5.6, -1.6, 1.6], [2.4, 5.6, 1.4, 1.6], [2.4, 5.6, -1.6, -1.4]]
    )
    assert scene.start == (0.0, 0.0)


@pytest.mark.parametrize("task", ["point", "swimmer"])
def test_a_control_has_a_start_and_no_walls(task):
    free = recipe(task, "laptop", "es")
    assert built_in_scene(free) == Scene(start=(0.0, 0.0))


def test_the_point_that_is_given_a_trap_is_seen_before_it():
    trapped = changed(recipe("point", "laptop", "es"), {"environment": ("half_width=1.75",)})
    assert built_in_scene(trapped) == built_in_scene(TRAP)


def test_bodies_have_the_walls_of_their_trap():
    humanoid = built_in_scene(recipe("humanoid-trap", "laptop", "es"))
    assert np.allclose(
        humanoid.walls, [[5.4, 5.6, -1.5, 1.5], [2.5, 5.5, 1.4, 1.6], [2.5, 5.5, -1.6, -1.4]]
    )
    wide = changed(recipe("humanoid", "laptop", "es"), {"environment": ('trap={"back": 9}',)})
    assert built_in_scene(wide).walls[0][:2] == pytest.approx((8.9, 9.1))
    assert built_in_scene(recipe("humanoid", "laptop", "es")) == Scene(start=(0.0, 0.0))


def test_behaviors_that_are_not_places_have_no_scene():
    other = changed(TRAP, {"behavior": "mean-observation:3,4"})
    assert built_in_scene(other) == Scene()
    assert built_in_scene(changed(TRAP, {"behavior": "final:x,y"})) == built_in_scene(TRAP)


def test_a_task_without_a_scene_gets_an_empty_one():
    assert built_in_scene(recipe("CartPole-v1", "laptop", "es")) == Scene()


def test_a_scene_that_a_task_has_brought_is_stored_with_the_run(tmp_path):
    brought = Scene(((0.0, 1.0, 2.0, 3.0),), ((4.0, 5.0, 6.0, 7.0),), (0.0, 0.0))
    assert scene_of(make_run(tmp_path / "a", [1.0], scene=brought)) == brought
    assert scene_of(make_run(tmp_path / "b", [1.0])) == built_in_scene(TRAP)
