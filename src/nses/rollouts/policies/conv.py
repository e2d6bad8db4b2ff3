"""The convolutional network of the paper's Atari games, any number of actions."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nses.core.moments import Moments
from nses.errors import UsageError
from nses.rollouts.native.convolution import (
    CHANNELS,
    INPUTS,
    SIDES,
    UNITS,
    W4,
    adapt,
    norms,
    respond,
    see_frames,
    see_pixels,
    work,
)
from nses.rollouts.policies import check_theta

Vector = NDArray[np.float32]
PIXELS = (SIDES[0], SIDES[0], CHANNELS)
FRAMES = (CHANNELS, SIDES[0], SIDES[0])
FIELDS = (8 * 8, 4 * 4, 1)  # pixels that a unit sees, for Xavier's fan out


@dataclass(frozen=True, eq=False)
class Conv:
    """84 × 84 × 4 → 16 filters 8 × 8 / 4 → 32 filters 4 × 4 / 2 → 256 → one logit per action.

    Virtual batch norm takes its moments from `reference`, (n, 84, 84, 4), n = 128 in the paper. It
    passes once through every network that is bound; later observations do not change the moments.

    theta is W, b, γ, β of each hidden layer in turn, then W, b of the last. A W has one row per
    input, in the order (row, column, channel), and one column per unit.
    """

    actions: int
    reference: NDArray[np.uint8]

    def __post_init__(self) -> None:
        if self.actions < 1:
            raise UsageError(f"a policy needs at least 1 action, got {self.actions}.")
        shape, kind = np.shape(self.reference), getattr(self.reference, "dtype", None)
        if len(shape) != 4 or shape[0] < 2 or shape[1:] != PIXELS or kind != np.uint8:
            raise UsageError(
                "reference must be uint8 observations of shape (n, 84, 84, 4), n at least 2 and "
                f"128 in the paper, got {kind or type(self.reference).__name__} of shape {shape}; "
                "take them from random play in the task."
            )

    @property
    def size(self) -> int:
        """The number of parameters d: 1,004,432 + 257 per action."""
        return W4 + (UNITS[-1] + 1) * self.actions

    @property
    def observation_size(self) -> int:
        return SIDES[0] * SIDES[0] * CHANNELS

    @property
    def moments_size(self) -> int:
        """None: inputs are normalized by the reference batch alone."""
        return 0

    def init(self, rng: np.random.Generator) -> Vector:
        """Weights uniform within ±√(6 / (fan in + fan out)) (Xavier), b = 0, γ = 1, β = 0."""
        parts: list[NDArray[np.float64]] = []
        for inputs, units, field in zip(INPUTS, UNITS, FIELDS, strict=True):
            parts.append(_xavier(rng, inputs, units, field))
            parts += [np.zeros(units), np.ones(units), np.zeros(units)]
        parts += [_xavier(rng, UNITS[-1], self.actions), np.zeros(self.actions)]
        return np.concatenate(parts).astype(np.float32)

    def bind(
        self, theta: Vector, moments: Moments
    ) -> Callable[[NDArray[np.float64]], NDArray[np.float32]]:
        """The network with these parameters: flat observation, 0 to 255, to logits."""
        return self._bind(theta, see_pixels, (self.observation_size,))

    def bind_frames(self, theta: Vector) -> Callable[[NDArray[np.uint8]], NDArray[np.float32]]:
        """The same for an emulator's four frames, (4, 84, 84), the oldest first."""
        return self._bind(theta, see_frames, FRAMES)

    def _bind(
        self, theta: Vector, see: Callable[..., None], shape: tuple[int, ...]
    ) -> Callable[[NDArray[Any]], NDArray[np.float32]]:
        check_theta(theta, self.size)
        batch, maps, room = np.ascontiguousarray(self.reference), norms(), work(self.actions)
        adapt(theta, batch.reshape(len(batch), -1), room, maps)

        def act(observation: NDArray[Any]) -> NDArray[np.float32]:
            if observation.shape != shape:
                raise UsageError(
                    f"an observation must have shape {shape}, got {observation.shape}."
                )
            see(observation, room.image)
            return respond(theta, maps, room)

        return act


def _xavier(
    rng: np.random.Generator, inputs: int, units: int, field: int = 1
) -> NDArray[np.float64]:
    limit = np.sqrt(6 / (inputs + field * units))
    return rng.uniform(-limit, limit, inputs * units)
