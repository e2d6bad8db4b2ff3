"""What an episode did, as a vector of numbers or a trace: a probe of its steps, and a summary."""

import importlib
import os
import reprlib
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nses.errors import UsageError
from nses.rollouts.attributes import AttributeProbe
from nses.rollouts.foreign import errors_only

Probe = Callable[[Any, dict[str, Any]], Sequence[float] | NDArray[Any]]

SUMMARIES = ("final", "mean", "trajectory", "trace")
PLACE = "final:x,y"  # where a body or a robot ends
TRAJECTORY_POINTS = 10
ROOM = 256  # steps that a trace has room for at first
RAM = {"ram": "trace", "ram-final": "final", "ram-mean": "mean"}  # of Atari games


@dataclass(frozen=True)
class Behavior:
    """A summary of `probe(observation, info)`: final, mean, trajectory or trace.

    A trajectory is the probe at ten equally spaced steps up to the step limit; after the end of a
    shorter episode, its last state is repeated. A trace is the probe at every step, in bytes: uint8
    (steps, bytes) instead of a float64 vector, as long as the episode, with its own distances.
    `labels` name its numbers in plots; otherwise they are named after the behavior.
    """

    name: str
    probe: Probe
    summary: str = "final"
    labels: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if isinstance(self.labels, str) or not all(isinstance(x, str) for x in self.labels):
            raise UsageError(f"labels must be a tuple of names, got {self.labels!r}.")
        if self.summary not in SUMMARIES:
            raise UsageError(
                f"summary must be one of {', '.join(SUMMARIES)}, got {self.summary!r}."
            )

    def record(self, step_limit: int) -> "Record | TraceRecord":
        return TraceRecord(self) if self.summary == "trace" else Record(self, step_limit)

    def same_as(self, other: "Behavior") -> bool:
        """Whether the two give the same values, whatever their names."""
        return (self.probe, self.summary) == (other.probe, other.summary)


class Record:
    """The behavior of one episode while it is played."""

    def __init__(self, behavior: Behavior, step_limit: int):
        self.name, self.probe = behavior.name, behavior.probe
        self.summary = behavior.summary
        self.every_step = behavior.summary != "final"
        self.step_limit = step_limit
        self.points: list[NDArray[np.float64]] = []
        self.steps = 0

    def see(self, observation: Any, info: dict[str, Any]) -> None:
        """Called after every step if `every_step`."""
        self.steps += 1
        if self.summary == "mean":
            b = self._look(observation, info)
            self.points = [self.points[0] + b] if self.points else [b]
        elif (due := TRAJECTORY_POINTS * self.steps // self.step_limit) > len(self.points):
            self.points += [self._look(observation, info)] * (due - len(self.points))

    def result(self, observation: Any, info: dict[str, Any]) -> NDArray[np.float64]:
        """b of the episode that ended with this observation and info."""
        if self.summary == "mean":
            return self.points[0] / self.steps
        last = self._look(observation, info)
        if self.summary == "final":
            return last
        return np.concatenate((self.points + [last] * TRAJECTORY_POINTS)[:TRAJECTORY_POINTS])

    def _look(self, observation: Any, info: dict[str, Any]) -> NDArray[np.float64]:
        """The probe, copied into a new vector: environments may reuse their arrays."""
        b = np.array(_vector(self.name, self.probe(observation, info)), np.float64)
        if self.points:
            _check_size(self.name, self.points[0].size, "numbers", b.size)
        return b


class TraceRecord:
    """The trace of one episode while it is played: rows of bytes, one per step."""

    every_step = True

    def __init__(self, behavior: Behavior):
        self.name, self.probe = behavior.name, behavior.probe
        self.rows = np.empty((0, 0), np.uint8)  # with room for more
        self.steps = 0

    def see(self, observation: Any, info: dict[str, Any]) -> None:
        """Called after every step."""
        self.add(self._look(observation, info))

    def add(self, row: NDArray[np.uint8]) -> None:
        """Adds the bytes of a step."""
        if self.steps:
            _check_size(self.name, self.rows.shape[1], "bytes", row.size)
        if self.steps == len(self.rows):
            self.rows = np.resize(self.rows, (2 * self.steps or ROOM, row.size))
        self.rows[self.steps] = row
        self.steps += 1

    def result(self, observation: Any, info: dict[str, Any]) -> NDArray[np.uint8]:
        """b, (steps, bytes); for an episode without steps, its initial state."""
        if self.steps == 0:
            self.see(observation, info)
        return self.rows[: self.steps].copy()

    def _look(self, observation: Any, info: dict[str, Any]) -> NDArray[np.uint8]:
        seen = _vector(self.name, self.probe(observation, info))
        if seen.dtype == np.uint8:
            return seen
        with np.errstate(invalid="ignore"):
            row = seen.astype(np.uint8)
        if not np.array_equal(row, seen):
            raise UsageError(
                f"a trace holds bytes, whole numbers from 0 to 255, got {seen}; use final, mean or "
                "trajectory for other numbers."
            )
        return row


def _vector(name: str, seen: Any) -> NDArray[Any]:
    """The result of a probe as one row of numbers; NumPy would accept text, and None as NaN."""
    try:
        numbers = np.asarray(seen).reshape(-1)
        if numbers.dtype == object:  # fractions, for example
            numbers = np.array([float(x) for x in numbers.tolist()])
        if numbers.dtype.kind in "biuf" and numbers.size:
            return numbers
    except (TypeError, ValueError):
        pass
    raise UsageError(
        f"behavior {name!r} must return numbers, one or more, got {reprlib.repr(seen)}."
    )


def _check_size(name: str, expected: int, unit: str, size: int) -> None:
    """UsageError if the size changes: NumPy would repeat the numbers to fit, or fit by chance."""
    if size != expected:
        raise UsageError(
            f"behavior {name!r} must have {expected} {unit} at every step of an episode, as at its "
            f"first, got {size}."
        )


def parse_behavior(text: str) -> Behavior:
    """A behavior by name.

    `final:x_position,y_position` reads info, `final-observation:0,1` the observation (all of it if
    no index is given), `final-attribute:place` an attribute of the environment; `mean`,
    `trajectory` and `trace` work the same way. `ram`, `ram-final` and `ram-mean` read the memory of
    an Atari game; anything else is `package.module:attribute`.
    """
    if text in RAM:
        return Behavior(text, InfoProbe(("ram",)), RAM[text])
    kind, colon, what = text.partition(":")
    summary, _, source = kind.partition("-")
    names = tuple(name.strip() for name in what.split(",") if name.strip())
    if summary in SUMMARIES and source == "observation":
        return Behavior(text, _observation_probe(text, names), summary)
    probe_of = {"": InfoProbe, "attribute": AttributeProbe}.get(source)
    if summary in SUMMARIES and probe_of is not None:
        if not names:
            raise UsageError(
                f"behavior {text!r} names nothing to read; write for example '{kind}:x,y'."
            )
        return Behavior(text, probe_of(names), summary)
    if summary in SUMMARIES or not colon:
        raise UsageError(
            f"behavior must be '{'|'.join(SUMMARIES)}:KEY,...' (keys of info), "
            f"'final-observation:0,1', 'final-attribute:NAME', {', '.join(RAM)} (of Atari) or "
            f"'package.module:attribute', got {text!r}."
        )
    found = load_attribute(text, "behavior")
    if isinstance(found, Behavior):
        return found
    if callable(found):
        probe: Any = found  # `nses.check_task` checks what it returns
        return Behavior(text, probe)
    raise UsageError(
        f"behavior {text!r} must be an nses.Behavior or a function of (observation, info), "
        f"got {type(found).__name__}."
    )


def load_attribute(name: str, role: str) -> Any:
    """The object behind `package.module:attribute`."""
    module, _, attribute = name.partition(":")
    try:
        with errors_only():
            found: Any = _module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
    except Exception as error:  # whatever a module does when it is imported
        raise UsageError(
            f"cannot load {role} {name!r}: {error}. Expected 'package.module:attribute', "
            "importable from here (current directory or PYTHONPATH)."
        ) from error
    return found


def imported(name: str) -> ModuleType:
    """A module; UsageError if it cannot be imported, whatever it does then."""
    try:
        with errors_only():
            return _module(name)
    except Exception as error:
        raise UsageError(
            f"cannot import module {name!r}: {type(error).__name__}: {error}. It must be "
            "importable from here (current directory or PYTHONPATH)."
        ) from error


def _module(name: str) -> ModuleType:
    """A module on the path, or else in the working directory.

    If it is found there, the directory stays on the path, in last place, for the workers and for
    what the module imports later.
    """
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        here = os.getcwd()
        if here in sys.path:
            raise
    sys.path.append(here)
    try:
        return importlib.import_module(name)
    except BaseException:
        sys.path.remove(here)
        raise


def _observation_probe(text: str, names: tuple[str, ...]) -> Probe:
    for name in names:
        if not name.isdecimal():
            raise UsageError(f"behavior {text!r}: an index must be 0, 1, 2 ..., got {name!r}.")
    indices = [int(name) for name in names]

    def probe(observation: Any, info: dict[str, Any]) -> NDArray[np.float64]:
        flat = _numbers(observation)
        if indices and max(indices) >= flat.size:
            raise UsageError(
                f"behavior {text!r}: the observation has only {flat.size} numbers; use the indices "
                f"0 to {flat.size - 1}."
            )
        return flat[indices] if indices else flat

    return probe


def _numbers(observation: Any) -> NDArray[np.float64]:
    """All numbers of an observation in a row; a dictionary is sorted by key, as in Gymnasium."""
    match observation:
        case dict():
            return np.concatenate([_numbers(observation[key]) for key in sorted(observation)])
        case tuple():
            return np.concatenate([_numbers(part) for part in observation])
    return np.asarray(observation, np.float64).reshape(-1)


@dataclass(frozen=True)
class InfoProbe:
    """Reads these keys of info. A value, so that two probes can be compared."""

    keys: tuple[str, ...]

    def __call__(self, observation: Any, info: dict[str, Any]) -> NDArray[Any]:
        try:
            return np.concatenate([np.asarray(info[key]).reshape(-1) for key in self.keys])
        except KeyError as error:
            known = ", ".join(sorted(map(str, info))) or "none"
            raise UsageError(
                f"info has no key {error.args[0]!r} for the behavior; its keys are: {known}. "
                "To read the observation instead, use final-observation:0,1."
            ) from None
