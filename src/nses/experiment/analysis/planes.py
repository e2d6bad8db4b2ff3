"""Behaviors as points in a plane: two of their numbers, or a single one against generations."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nses.core.values import Floats
from nses.experiment.analysis.scenes import scene_of
from nses.experiment.analysis.stories import Story
from nses.rollouts.tasks.scene import Scene

GENERATION = -1  # in the place of a number of the behavior
MOST_AXES = 12  # to choose from
SLIMMEST = 1 / 4  # of the sides of a plot with equal scales; beyond it, everything is in a strip


@dataclass(frozen=True)
class Plane:
    """Which two numbers of a behavior are drawn."""

    x: int  # or GENERATION
    y: int

    @property
    def has_scene(self) -> bool:
        """Whether walls can be drawn in it: they stand between the first two numbers."""
        return (self.x, self.y) == (0, 1)


def axes_of(stories: Sequence[Story]) -> list[int]:
    """The numbers of a behavior to choose from, in order: all, or those with the widest range.

    Novelty adds up squared differences, so the widest number matters most to it.
    """
    b = _known(stories)
    first = [0, 1] if any(scene_of(s.run) != Scene() for s in stories) else []
    widest = np.argsort(-np.ptp(b, axis=0), kind="stable").tolist() if len(b) else range(b.shape[1])
    return sorted(list(dict.fromkeys([*first, *widest]))[:MOST_AXES])


def plane_of(stories: Sequence[Story]) -> Plane | None:
    """The plane to draw unless the reader chooses another; None if behaviors are no vectors.

    That of the scene, if there is one, or else of the two numbers with the widest range.
    """
    sizes = {s.run.facts.behavior_size for s in stories}
    if len(sizes) != 1 or sizes == {0}:
        return None
    if sizes == {1}:
        return Plane(GENERATION, 0)
    if any(scene_of(s.run) != Scene() for s in stories):
        return Plane(0, 1)
    b = _known(stories)
    widest = np.argsort(-np.ptp(b, axis=0), kind="stable")[:2].tolist() if len(b) else [0, 1]
    return Plane(*sorted(widest))


def _known(stories: Sequence[Story]) -> Floats:
    """All behaviors that are finite, (N, d)."""
    b = np.concatenate([s.behaviors for s in stories if s.behaviors is not None])
    return b[np.isfinite(b).all(axis=1)]


def label_on(story: Story, axis: int) -> str:
    return "generation" if axis == GENERATION else story.run.facts.label(axis)


@dataclass(frozen=True, eq=False)
class Trail:
    """A run in a plane: where the updated member of each generation ended, if known."""

    b: Floats  # (T, 2)
    generation: NDArray[np.int64]  # (T,)
    member: NDArray[np.int64]  # (T,)
    score: Floats  # (T,)
    age: Floats  # (T,) 0 for the first generation, 1 for the last one of the configuration
    best: float | None  # of the whole run
    whole: Floats  # (T, d): all numbers of the behaviors


def trail_of(story: Story, plane: Plane) -> Trail:
    """The trail of a run whose behaviors are vectors."""
    b = story.behaviors
    assert b is not None
    known = np.isfinite(b).all(axis=1)
    generation, b = story.column("generation")[known], b[known]
    x = generation if plane.x == GENERATION else b[:, plane.x]
    return Trail(
        b=np.stack([x, b[:, plane.y]], axis=1),
        generation=generation.astype(np.int64),
        member=story.column("member")[known].astype(np.int64),
        score=story.column("score")[known],
        age=(generation - 1) / max(story.run.config.generations - 1, 1),
        best=story.records[-1]["best"] if story.records else None,
        whole=b,
    )


@dataclass(frozen=True, eq=False)
class Frame:
    """The part of a plane that is drawn: its corners, and whether both scales are equal."""

    low: Floats  # (2,)
    high: Floats  # (2,)
    equal: bool


def frame_of(b: Floats, plane: Plane, scene: Scene) -> Frame:
    """What shows behaviors, (T, 2), and the scene, with a margin.

    Scales are equal if there is a scene, or where that leaves no strip: places look like places,
    while a position against a velocity fills the plot.
    """
    seen = np.concatenate([b, _corners(scene) if plane.has_scene else np.empty((0, 2))])
    seen = seen[np.isfinite(seen).all(axis=1)]
    if not len(seen):
        return Frame(np.array([-1.0, -1.0]), np.array([1.0, 1.0]), True)
    low, high = seen.min(axis=0), seen.max(axis=0)
    size = high - low
    slim = size.min() < SLIMMEST * size.max()
    equal = plane.has_scene and (scene != Scene() or not slim)
    span = np.full(2, size.max()) if equal else size
    span = np.where(span > 0, span, np.maximum(np.abs(high), 1.0))
    margin = np.maximum(0.05 * span, 1e-6 * np.abs(high))  # ticks need room to differ
    return Frame(low - margin, high + margin, equal)


def _corners(scene: Scene) -> Floats:
    corners = [(x, y) for x0, x1, y0, y1 in scene.boxes for x, y in ((x0, y0), (x1, y1))]
    return np.reshape([*corners, *([scene.start] if scene.start else [])], (-1, 2))
