"""Tasks seen from above: where the walls stand and where episodes start."""

from collections.abc import Callable
from functools import partial
from typing import Any

from nses.experiment.runs.run import Run
from nses.experiment.settings.config import Config
from nses.rollouts.behaviors import PLACE
from nses.rollouts.tasks.bodies import BODY_TASKS, BodyTask
from nses.rollouts.tasks.catalog import POINTS
from nses.rollouts.tasks.point import HALF_WIDTH, boxes_of, walls_of
from nses.rollouts.tasks.register import ENVIRONMENTS
from nses.rollouts.tasks.scene import Scene
from nses.rollouts.tasks.trap import trap_of


def scene_of(run: Run) -> Scene:
    """The scene that a user's task has brought, or that of a built-in one."""
    brought = run.facts.scene
    return built_in_scene(run.config) if brought == Scene() else brought


def built_in_scene(config: Config) -> Scene:
    """A task seen from above; empty if it has no scene or its behaviors are not (x, y)."""
    if config.task not in SCENES or config.behavior not in (None, PLACE):
        return Scene()
    return SCENES[config.task](config.environment_arguments)


def _point(identifier: str, arguments: dict[str, Any]) -> Scene:
    settings = {**ENVIRONMENTS[identifier][2], **arguments}
    boxes = boxes_of(walls_of(settings.get("half_width", HALF_WIDTH)))
    return Scene(tuple(tuple(wall) for wall in boxes.tolist()), start=(0.0, 0.0))


def _body(task: BodyTask, arguments: dict[str, Any]) -> Scene:
    trap = trap_of(arguments.get("trap", task.trap))
    boxes = trap.walls.values() if trap else ()
    walls = tuple((x - a, x + a, y - b, y + b) for (x, y), (a, b) in boxes)
    return Scene(walls, start=(0.0, 0.0))


SCENES: dict[str, Callable[[dict[str, Any]], Scene]] = {
    **{name: partial(_point, identifier) for name, identifier in POINTS.items()},
    **{name: partial(_body, task) for name, task in BODY_TASKS.items()},
}
