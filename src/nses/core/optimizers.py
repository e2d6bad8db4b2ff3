"""Gradient ascent: Adam (the paper's), SGD with momentum, ClipUp. State is a value beside theta."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float32]

FASTEST = 2.0  # steps of size lr that ClipUp's velocity may come to: its authors' rule


@dataclass(frozen=True)
class OptimizerState:
    """Steps taken and the moment vectors, each (d,); SGD and ClipUp use the first only."""

    t: int
    m: Vector
    v: Vector


class Ascend(Protocol):
    """theta and state after one step of size lr along g."""

    def __call__(
        self, theta: Vector, g: NDArray[np.float64], state: OptimizerState, lr: float
    ) -> tuple[Vector, OptimizerState]: ...


def initial(d: int) -> OptimizerState:
    return OptimizerState(0, np.zeros(d, np.float32), np.zeros(d, np.float32))


def adam(
    theta: Vector, g: NDArray[np.float64], state: OptimizerState, lr: float
) -> tuple[Vector, OptimizerState]:
    """Adam with beta 0.9 and 0.999 and epsilon 1e-8, ascending.

    Computed in float64; stored in float32, because each of the M members has a state of this size.
    """
    t = state.t + 1
    m = 0.9 * state.m.astype(np.float64) + 0.1 * g
    v = 0.999 * state.v.astype(np.float64) + 0.001 * g * g
    step = lr * np.sqrt(1 - 0.999**t) / (1 - 0.9**t)
    theta = (theta + step * m / (np.sqrt(v) + 1e-8)).astype(np.float32)
    return theta, OptimizerState(t, m.astype(np.float32), v.astype(np.float32))


def sgd(
    theta: Vector, g: NDArray[np.float64], state: OptimizerState, lr: float
) -> tuple[Vector, OptimizerState]:
    """SGD with momentum 0.9, ascending; the momentum is a running mean of the gradient."""
    m = 0.9 * state.m.astype(np.float64) + 0.1 * g
    theta = (theta + lr * m).astype(np.float32)
    return theta, OptimizerState(state.t + 1, m.astype(np.float32), state.v)


def clipup(
    theta: Vector, g: NDArray[np.float64], state: OptimizerState, lr: float
) -> tuple[Vector, OptimizerState]:
    """ClipUp (Toklu et al. 2020): momentum 0.9 of unit gradients, at most 2 lr fast.

    Every step has a length that lr alone decides, whatever the size of the gradient.
    """
    m = 0.9 * state.m.astype(np.float64) + lr * _unit(g)
    speed = _length(m)
    if speed > FASTEST * lr:
        m *= FASTEST * lr / speed
    theta = (theta + m).astype(np.float32)
    return theta, OptimizerState(state.t + 1, m.astype(np.float32), state.v)


def _unit(g: NDArray[np.float64]) -> NDArray[np.float64]:
    """g / |g|, or 0 where there is no direction."""
    largest = np.abs(g).max(initial=0.0)
    if largest == 0.0:
        return np.zeros_like(g)
    g = g / largest  # first, so that no square overflows
    return g / _length(g)


def _length(x: NDArray[np.float64]) -> float:
    return float(np.sqrt((x * x).sum()))


OPTIMIZERS: dict[str, Ascend] = {"adam": adam, "sgd": sgd, "clipup": clipup}
