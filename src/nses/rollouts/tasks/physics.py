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
MOST = {"iterations": 10**6, "substeps": 1000}
SOLVERS = {"PGS": "mjSOL_PGS", "CG": "mjSOL_CG", "Newton": "mjSOL_NEWTON"}


@dataclass(frozen=True)
class Physics:
    """The options of a simulation; None is what the model says."""

    integrator: str | None = None
    solver: str | None = None  # of contacts and limits
    iterations: int | None = None  # of the solver, at most
    tolerance: float | None = None  # at which it ends earlier
    substeps: int | None = None  # of equal length, that make up a step of the environment

    def __post_init__(self) -> None:
        for name, known in (("integrator", INTEGRATORS), ("solver", SOLVERS)):
            value = getattr(self, name)
            if not (value is None or (isinstance(value, str) and value in known)):
                raise UsageError(f"{name} must be one of {', '.join(known)}, got {value!r}.")
        for name, most in MOST.items():
            count = getattr(self, name)
            whole = isinstance(count, int) and not isinstance(count, bool)
            if not (count is None or (whole and 1 <= count <= most)):
                raise UsageError(
                    f"{name} must be a whole number from 1 to {most:,}, got {count!r}."
                )
        least = self.tolerance
        if not (least is None or (isinstance(least, int | float) and 0 <= least < math.inf)):
            raise UsageError(f"tolerance must be a number of at least 0, got {least!r}.")

    def revised(self, arguments: Mapping[str, Any]) -> "Physics":
        """This, with those options that are among the arguments of an environment."""
        return replace(self, **_given(arguments))

    def apply(self, spec: "MjSpec", own: int) -> None:
        """Give these options to a model, `own` steps of which make up one of the environment."""
        import mujoco

        given = _given(asdict(self))
        if (substeps := given.pop("substeps", own)) != own:
            spec.option.timestep *= own / substeps
        for name, value in given.items():
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
