"""Tasks seen from above: where the walls stand and where episodes start."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nses.core.values import Floats
from nses.experiment.analysis.stories import Story
from nses.experiment.settings.config import Config
from nses.rollouts.behaviors import PLACE
from nses.rollouts.tasks.bodies import BODY_TASKS, BodyTask
from nses.rollouts.tasks.catalog import POINTS
from nses.rollouts.tasks.point import HALF_WIDTH, boxes_of, walls_of
from nses.rollouts.tasks.register import ENVIRONMENTS
from nses.rollouts.tasks.trap import trap_of

LABELS = ("final x", "final y")


@dataclass(frozen=True)
class Scene:
    """What to draw besides the runs: walls as (x0, x1, y0, y1), and where episodes start."""

    walls: tuple[tuple[float, float, float, float], ...] = ()
    start: tuple[float, float] | None = None
    labels: tuple[str, str] = ("behavior 0", "behavior 1")


def scene_of(config: Config) -> Scene:
    """A task seen from above; empty if it has no scene or its behaviors are not (x, y)."""
    if config.task not in SCENES or config.behavior not in (None, PLACE):
        return Scene()
    return SCENES[config.task](config.environment_arguments)


def _point(identifier: str, arguments: dict[str, Any]) -> Scene:
    settings = {**ENVIRONMENTS[identifier][2], **arguments}
    boxes = boxes_of(walls_of(settings.get("half_width", HALF_WIDTH)))
    return Scene(tuple(tuple(wall) for wall in boxes.tolist()), (0.0, 0.0), LABELS)


def _body(task: BodyTask, arguments: dict[str, Any]) -> Scene:
    trap = trap_of(arguments.get("trap", task.trap))
    boxes = trap.walls.values() if trap else ()
    walls = tuple((x - a, x + a, y - b, y + b) for (x, y), (a, b) in boxes)
    return Scene(walls, (0.0, 0.0), LABELS)


SCENES: dict[str, Callable[[dict[str, Any]], Scene]] = {
    **{name: partial(_point, identifier) for name, identifier in POINTS.items()},
    **{name: partial(_body, task) for name, task in BODY_TASKS.items()},
}


@dataclass(frozen=True, eq=False)
class Trail:
    """A run from above: where the updated member of each generation ended, if known."""

    b: Floats  # (T, 2)
    generation: NDArray[np.int64]  # (T,)
    member: NDArray[np.int64]  # (T,)
    score: Floats  # (T,)
    age: Floats  # (T,) 0 for the first generation, 1 for the last one of the configuration
    best: float | None  # of the whole run


def trail_of(story: Story) -> Trail:
    """The trail of a run whose behaviors are points in a plane."""
    b = story.behaviors
    assert b is not None
    known = np.isfinite(b).all(axis=1)
    generation = story.column("generation")[known]
    return Trail(
        b=b[known],
        generation=generation.astype(np.int64),
        member=story.column("member")[known].astype(np.int64),
        score=story.column("score")[known],
        age=(generation - 1) / max(story.run.config.generations - 1, 1),
        best=story.records[-1]["best"] if story.records else None,
    )


def limits(b: Floats, scene: Scene) -> tuple[Floats, Floats]:
    """Lowest and highest (x, y) of behaviors, (T, 2), and of the scene, with a margin."""
    corners = [(x, y) for x0, x1, y0, y1 in scene.walls for x, y in ((x0, y0), (x1, y1))]
    start = [scene.start] if scene.start else []
    seen = np.concatenate([b, np.reshape([*corners, *start], (-1, 2))])
    seen = seen[np.isfinite(seen).all(axis=1)]
    if not len(seen):
        return np.array([-1.0, -1.0]), np.array([1.0, 1.0])
    low, high = seen.min(axis=0), seen.max(axis=0)
    margin = max(0.05 * float((high - low).max()), 1e-6)
    return low - margin, high + margin
