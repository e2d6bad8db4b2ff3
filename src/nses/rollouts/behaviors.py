"""What an episode did, as a vector of numbers: a probe of every step, and a summary over the steps."""

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Probe = Callable[[Any, dict[str, Any]], Sequence[float] | NDArray[np.float64]]

SUMMARIES = ("final", "mean", "trajectory")
TRAJECTORY_POINTS = 10


@dataclass(frozen=True)
class Behavior:
    """`probe(observation, info)` at the end (final), on average (mean) or along the way (trajectory).

    A trajectory is the probe at ten equally spaced steps of the step limit; where the episode was
    shorter, its last state stands for the rest.
    """

    name: str
    probe: Probe
    summary: str = "final"

    def __post_init__(self) -> None:
        if self.summary not in SUMMARIES:
            raise ValueError(
                f"summary must be one of {', '.join(SUMMARIES)}, got {self.summary!r}."
            )

    def record(self, step_limit: int) -> "Record":
        return Record(self, step_limit)


class Record:
    """The behavior of one episode while it is played."""

    def __init__(self, behavior: Behavior, step_limit: int):
        self.probe = behavior.probe
        self.summary = behavior.summary
        self.every_step = behavior.summary != "final"
        self.stride = max(1, -(-step_limit // TRAJECTORY_POINTS))
        self.points: list[NDArray[np.float64]] = []
        self.steps = 0

    def see(self, observation: Any, info: dict[str, Any]) -> None:
        """Called after every step where `every_step`."""
        self.steps += 1
        if self.summary == "mean":
            b = np.array(self.probe(observation, info), np.float64)
            self.points = [self.points[0] + b] if self.points else [b]
        elif self.steps % self.stride == 0:
            self.points.append(np.array(self.probe(observation, info), np.float64))

    def result(self, observation: Any, info: dict[str, Any]) -> NDArray[np.float64]:
        """b of the episode that ended with this observation and info."""
        if self.summary == "mean":
            return self.points[0] / self.steps
        last = np.array(self.probe(observation, info), np.float64).reshape(-1)
        if self.summary == "final":
            return last
        points = (self.points + [last] * TRAJECTORY_POINTS)[:TRAJECTORY_POINTS]
        return np.concatenate([p.reshape(-1) for p in points])


def parse_behavior(text: str) -> Behavior:
    """A behavior by name.

    `final:x_position,y_position` looks at info, `final-observation:0,1` at the observation (all of
    it without indices), `mean` and `trajectory` likewise; anything else is `package.module:attribute`.
    """
    kind, _, what = text.partition(":")
    summary, _, source = kind.partition("-")
    if summary in SUMMARIES and source in ("", "observation"):
        if source == "observation":
            return Behavior(text, _observation_probe(text, what), summary)
        keys = tuple(key.strip() for key in what.split(",") if key.strip())
        if not keys:
            raise ValueError(f"behavior {text!r} names no info key; write for example 'final:x,y'.")
        return Behavior(text, _info_probe(keys), summary)
    if ":" not in text:
        raise ValueError(
            f"behavior must be '{'|'.join(SUMMARIES)}:KEY,...' (keys of info), "
            f"'final-observation:0,1' or 'package.module:attribute', got {text!r}."
        )
    found = load_attribute(text, "behavior")
    if isinstance(found, Behavior):
        return found
    if callable(found):
        return Behavior(text, found)
    raise ValueError(
        f"behavior {text!r} must be an nses.Behavior or a function of (observation, info), "
        f"got {type(found).__name__}."
    )


def load_attribute(name: str, role: str) -> Any:
    """The object behind `package.module:attribute`."""
    module, _, attribute = name.partition(":")
    try:
        found: Any = importlib.import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError, ValueError) as error:
        raise ValueError(
            f"cannot load {role} {name!r}: {error}. Expected 'package.module:attribute', importable "
            "from here (current directory or PYTHONPATH)."
        ) from error
    return found


def _observation_probe(text: str, what: str) -> Probe:
    try:
        indices = [int(index) for index in what.split(",") if index.strip()]
    except ValueError:
        raise ValueError(
            f"behavior {text!r}: indices must be whole numbers, got {what!r}."
        ) from None

    def probe(observation: Any, info: dict[str, Any]) -> NDArray[np.float64]:
        flat = np.asarray(observation, np.float64).reshape(-1)
        if indices and max(indices) >= flat.size:
            raise ValueError(
                f"behavior {text!r}: the observation has {flat.size} numbers, 0 to {flat.size - 1}."
            )
        return flat[indices] if indices else flat

    return probe


def _info_probe(keys: tuple[str, ...]) -> Probe:
    def probe(observation: Any, info: dict[str, Any]) -> NDArray[np.float64]:
        try:
            return np.concatenate([np.asarray(info[key], np.float64).reshape(-1) for key in keys])
        except KeyError as error:
            known = ", ".join(sorted(map(str, info))) or "none"
            raise ValueError(
                f"info has no key {error.args[0]!r} for the behavior; its keys are: {known}. "
                "Without keys, use final-observation:0,1."
            ) from None

    return probe
