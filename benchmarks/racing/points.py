"""What a contender leaves on its way: its policy after every generation, and when that was.

Imported in the rivals' environment too, so it needs nothing but NumPy.
"""

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False)
class Network:
    """Layers of tanh, the last one linear, of clip((observation - mean) / std, ±limit)."""

    mean: Array
    std: Array
    limit: float  # infinite if nothing is clipped
    layers: tuple[tuple[Array, Array], ...]  # weights (outputs, inputs) and biases (outputs,)

    def __call__(self, observation: Array) -> Array:
        x = np.clip((observation - self.mean) / self.std, -self.limit, self.limit)
        for weight, bias in self.layers[:-1]:
            x = np.tanh(weight @ x + bias)
        weight, bias = self.layers[-1]
        return weight @ x + bias

    @property
    def arrays(self) -> dict[str, Any]:
        """Everything by name; `network_of` is the inverse."""
        named: dict[str, Any] = {"mean": self.mean, "std": self.std, "limit": self.limit}
        for i, (weight, bias) in enumerate(self.layers):
            named |= {f"weight{i}": weight, f"bias{i}": bias}
        return named


def network_of(arrays: Any) -> Network:
    count = sum(name.startswith("weight") for name in arrays)
    layers = tuple((arrays[f"weight{i}"], arrays[f"bias{i}"]) for i in range(count))
    return Network(arrays["mean"], arrays["std"], float(arrays["limit"]), layers)


@dataclass(frozen=True, eq=False)
class Point:
    """A policy, and what it took to get there."""

    seconds: float  # since the contender was started
    steps: int  # of the environment
    network: Network


@dataclass(frozen=True)
class Recorder:
    """Saves policies, each at once or not at all: a contender is killed when its time is up."""

    place: Path
    start: float  # on the monotonic clock, which all processes of a machine share

    def __call__(self, steps: int, network: Network) -> None:
        seconds = time.monotonic() - self.start
        unfinished = self.place / "unfinished"
        with unfinished.open("wb") as file:
            np.savez(file, seconds=seconds, steps=steps, **network.arrays)
        os.replace(unfinished, self.place / f"{seconds:013.6f}.npz")


def recorded(place: Path) -> list[Point]:
    """The points of a contender, in order."""
    points = []
    for file in sorted(place.glob("*.npz")):
        with np.load(file) as arrays:
            network = network_of(arrays)
            points.append(Point(float(arrays["seconds"]), int(arrays["steps"]), network))
    return points


def current(points: list[Point], seconds: float) -> Point | None:
    """The newest policy that a contender had at that time; None if it had none yet."""
    return next((point for point in reversed(points) if point.seconds <= seconds), None)
