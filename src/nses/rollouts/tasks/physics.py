"""How a MuJoCo body is simulated: options that trade accuracy for speed.

MuJoCo itself is imported when they are applied.
"""

# MuJoCo's bindings come without types:
# pyright: reportAttributeAccessIssue=false

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from nses.errors import UsageError

if TYPE_CHECKING:
    from mujoco import MjSpec

# As MuJoCo's XML spells them → members of its mjtIntegrator and mjtSolver.
INTEGRATORS = {
    "Euler": "mjINT_EULER",
    "RK4": "mjINT_RK4",
    "implicit": "mjINT_IMPLICIT",
    "implicitfast": "mjINT_IMPLICITFAST",
}
MOST_ITERATIONS = 10**6
SOLVERS = {"PGS": "mjSOL_PGS", "CG": "mjSOL_CG", "Newton": "mjSOL_NEWTON"}


@dataclass(frozen=True)
class Physics:
    """The options of a simulation; None is what the model says."""

    integrator: str | None = None
    solver: str | None = None  # of contacts and limits
    iterations: int | None = None  # of the solver, at most
    tolerance: float | None = None  # at which it ends earlier

    def __post_init__(self) -> None:
        for name, known in (("integrator", INTEGRATORS), ("solver", SOLVERS)):
            value = getattr(self, name)
            if not (value is None or (isinstance(value, str) and value in known)):
                raise UsageError(f"{name} must be one of {', '.join(known)}, got {value!r}.")
        count, least = self.iterations, self.tolerance
        whole = isinstance(count, int) and not isinstance(count, bool)
        if not (count is None or (whole and 1 <= count <= MOST_ITERATIONS)):
            raise UsageError(
                f"iterations must be a whole number from 1 to {MOST_ITERATIONS:,}, got {count!r}."
            )
        if not (least is None or (isinstance(least, int | float) and 0 <= least < math.inf)):
            raise UsageError(f"tolerance must be a number of at least 0, got {least!r}.")

    def revised(self, arguments: Mapping[str, Any]) -> "Physics":
        """This, with those options that are among the arguments of an environment."""
        return replace(self, **_given(arguments))

    def apply(self, spec: "MjSpec") -> None:
        """Give a model these options."""
        import mujoco

        for name, value in _given(asdict(self)).items():
            if name == "integrator":
                value = getattr(mujoco.mjtIntegrator, INTEGRATORS[value])
            elif name == "solver":
                value = getattr(mujoco.mjtSolver, SOLVERS[value])
            setattr(spec.option, name, value)

    def other_than(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """These options as far as the arguments of an environment name others, for people."""
        given, own = _given(arguments), asdict(self)
        others = {name: own[name] for name, value in given.items() if value != own[name]}
        return {name: "of the model" if x is None else x for name, x in others.items()}


OPTIONS = frozenset(f.name for f in fields(Physics))
MODELS_OWN = Physics()
USUAL = Physics("Euler", "Newton", 100, 1e-8)  # MuJoCo's own


def _given(arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {name: x for name, x in arguments.items() if name in OPTIONS and x is not None}
