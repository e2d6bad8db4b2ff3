"""The paper's deceptive trap: three walls across the straight way, for any MuJoCo body."""

# MuJoCo's bindings come without types:
# pyright: reportAttributeAccessIssue=false

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from nses.errors import UsageError

if TYPE_CHECKING:
    from mujoco import MjSpec

HALF_THICKNESS = 0.1
HALF_HEIGHT = 2.0
COLOR = (0.30, 0.34, 0.42, 0.5)  # translucent, to show what is behind a wall

Point = tuple[float, float]


@dataclass(frozen=True)
class Trap:
    """A room of `depth` in front of a back wall at x = `back`, open towards the start at x = 0.

    Lengths are between the centre lines of the walls; the defaults are the paper's. `margin` is the
    distance at which MuJoCo notices something close to a wall, 0.001 in the authors' model.
    """

    back: float = 5.5
    half_width: float = 1.5
    depth: float = 3.0
    margin: float = 0.0

    def __post_init__(self) -> None:
        lengths = asdict(self)
        margin = lengths.pop("margin")
        for name, value in lengths.items():
            if not (isinstance(value, int | float) and HALF_THICKNESS < value < math.inf):
                raise UsageError(f"{name} of a trap must be above {HALF_THICKNESS}, got {value!r}.")
        if not (isinstance(margin, int | float) and 0 <= margin < math.inf):
            raise UsageError(f"margin of a trap must be at least 0, got {margin!r}.")
        if self.depth >= self.back:
            raise UsageError(
                f"the start at x = 0 must lie outside the trap, got depth {self.depth} with its "
                f"back at {self.back}; make depth smaller."
            )

    @property
    def outside(self) -> float:
        """x beyond which a body has left the trap: the far side of the back wall."""
        return self.back + HALF_THICKNESS

    @property
    def walls(self) -> dict[str, tuple[Point, Point]]:
        """Centre and half size of each box in the plane."""
        middle, half_depth = self.back - self.depth / 2, self.depth / 2
        return {
            "back": ((self.back, 0.0), (HALF_THICKNESS, self.half_width)),
            "left": ((middle, self.half_width), (half_depth, HALF_THICKNESS)),
            "right": ((middle, -self.half_width), (half_depth, HALF_THICKNESS)),
        }


def trap_of(settings: Mapping[str, Any] | None) -> Trap | None:
    """The trap with these settings: an empty mapping gives the paper's, None gives none."""
    if settings is None:
        return None
    if not isinstance(settings, Mapping) or not set(settings) <= set(asdict(Trap())):
        raise UsageError(
            f"trap must be none or a mapping with some of {', '.join(asdict(Trap()))}, "
            f"got {settings!r}."
        )
    return Trap(**settings)


def with_trap(spec: "MjSpec", trap: Trap) -> "MjSpec":
    """A copy of a model with walls that stop all geoms of its bodies.

    Two geoms touch if contype of one and conaffinity of the other share a bit. The walls offer a
    bit of their own that every body accepts and none offers, so bodies that pass through each
    other, like the swimmer's, or through the floor, still do.
    """
    from mujoco import mjtGeom

    spec = spec.copy()
    used = 0
    for geom in spec.geoms:
        used |= geom.contype | geom.conaffinity
    bit = ~used & (used + 1)  # the lowest free one
    if bit >= 1 << 31:
        raise UsageError("the model uses all 31 collision bits, and the walls need one.")
    for body in spec.bodies:
        if body.name != spec.worldbody.name:
            for geom in body.geoms:
                geom.conaffinity |= bit
    for name, ((x, y), (half_x, half_y)) in trap.walls.items():
        spec.worldbody.add_geom(
            name=f"trap_{name}",
            type=mjtGeom.mjGEOM_BOX,
            pos=(x, y, 0.0),
            size=(half_x, half_y, HALF_HEIGHT),
            contype=bit,
            conaffinity=0,
            condim=1,
            priority=1,  # otherwise the friction of a body with condim 3, like the ant's, counts
            margin=trap.margin,
            material="",
            rgba=COLOR,
        )
    return spec
