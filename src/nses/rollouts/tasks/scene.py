"""What surrounds the places where episodes end: walls, goals and a start, as plain data."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from nses.errors import UsageError

SCENE = "nses_scene"  # where an environment keeps its scene: a key of its metadata
LARGEST = 1e100
MOST_BOXES = 10_000

Box = tuple[float, float, float, float]  # x0, x1, y0, y1


@dataclass(frozen=True)
class Scene:
    """What to draw around behaviors, in the units of their first two numbers."""

    walls: tuple[Box, ...] = ()
    goals: tuple[Box, ...] = ()
    start: tuple[float, float] | None = None
    behavior: str = ""  # that it belongs to, as --behavior names it; any if empty

    @property
    def boxes(self) -> tuple[Box, ...]:
        return self.walls + self.goals


NO_SCENE = Scene()


def scene_from(data: Any) -> Scene:
    """A scene from a dictionary; UsageError if it is not one."""
    known = [field.name for field in fields(Scene)]
    if not isinstance(data, Mapping) or not set(data) <= set(known):
        raise UsageError(f"a scene is a dictionary with some of {', '.join(known)}, got {data!r}.")
    start, behavior = data.get("start"), data.get("behavior") or ""
    if not isinstance(behavior, str):
        raise UsageError(f"behavior of a scene must be a name, as of --behavior, got {behavior!r}.")
    return Scene(
        _boxes("walls", data.get("walls") or ()),
        _boxes("goals", data.get("goals") or ()),
        None if start is None else _numbers("start", ("x", "y"), start),
        behavior,
    )


def plain(scene: Scene) -> dict[str, Any]:
    """The dictionary that `scene_from` takes."""
    return {name: value for name, value in asdict(scene).items() if value}


def _boxes(name: str, boxes: Any) -> tuple[Box, ...]:
    try:
        several = list(boxes)
    except TypeError:
        raise UsageError(f"{name} of a scene must be a list of boxes, got {boxes!r}.") from None
    if len(several) > MOST_BOXES:
        raise UsageError(f"a scene has at most {MOST_BOXES:,} {name}, got {len(several):,}.")
    return tuple(_numbers(name, ("x0", "x1", "y0", "y1"), box) for box in several)


def _numbers(name: str, parts: tuple[str, ...], given: Any) -> Any:
    """As many finite numbers as there are parts."""
    try:
        numbers = tuple(float(x) for x in given)
    except (TypeError, ValueError, OverflowError):
        numbers = ()
    if len(numbers) != len(parts) or not all(
        math.isfinite(x) and abs(x) <= LARGEST for x in numbers
    ):
        raise UsageError(f"{name} of a scene: expected ({', '.join(parts)}), got {given!r}.")
    return numbers
