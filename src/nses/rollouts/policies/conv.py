"""The convolutional network of the paper's Atari games, for any image and number of actions."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nses.core.moments import Moments
from nses.errors import UsageError
from nses.rollouts.images import Image
from nses.rollouts.native import images
from nses.rollouts.native.convolution import (
    CHANNELS,
    SIDES,
    UNITS,
    Norms,
    adapt,
    norms,
    respond_to_frames,
    respond_to_numbers,
    work,
)
from nses.rollouts.native.images import Fit, Layers, fitted, layers_of
from nses.rollouts.policies import check_theta

Vector = NDArray[np.float32]
PIXELS = (SIDES[0], SIDES[0], CHANNELS)
FRAMES = (CHANNELS, SIDES[0], SIDES[0])
PAPER = Image(PIXELS, (0, 1, 2))


@dataclass(frozen=True, eq=False)
class Conv:
    """84 × 84 × 4 → 16 filters 8 × 8 / 4 → 32 filters 4 × 4 / 2 → 256 → one logit per action.

    Filters of other images fit those (`fitted`); the paper's image has code of its own.

    Virtual batch norm takes its moments from `reference`, (n, 84, 84, 4), n = 128 in the paper. It
    passes once through every network that is bound; later observations do not change the moments.

    theta is W, b, γ, β of each hidden layer in turn, then W, b of the last. A W has one row per
    input, in the order (row, column, channel), and one column per unit.
    """

    actions: int
    reference: NDArray[np.uint8 | np.float32]  # as observed: (n, *image.shape)
    image: Image = PAPER

    def __post_init__(self) -> None:
        if self.actions < 1:
            raise UsageError(f"a policy needs at least 1 action, got {self.actions}.")
        shape, kind = np.shape(self.reference), getattr(self.reference, "dtype", None)
        allowed = (np.uint8,) if self.image == PAPER else (np.uint8, np.float32)
        if shape[1:] != self.image.shape or shape[0] < 2 or kind not in allowed:
            raise UsageError(
                f"reference must be {' or '.join(np.dtype(x).name for x in allowed)} observations "
                f"of shape (n, {', '.join(map(str, self.image.shape))}), n at least 2 and 128 in "
                f"the paper, got {kind or type(self.reference).__name__} of shape {shape}; take "
                "them from random play in the task."
            )

    @cached_property
    def fit(self) -> Fit:
        """The sizes of the layers."""
        return fitted(*self.image.size)

    @cached_property
    def layers(self) -> Layers:
        """The same as the compiled code takes them."""
        return layers_of(self.fit, self.image.order, self.image.white)

    @property
    def size(self) -> int:
        """The number of parameters d; of the paper's image 1,004,432 + 257 per action."""
        return int(self.fit.places[-1]) + (UNITS[-1] + 1) * self.actions

    @property
    def observation_size(self) -> int:
        return int(np.prod(self.image.shape))

    @property
    def moments_size(self) -> int:
        """None: the reference batch is all that inputs are compared with."""
        return 0

    def init(self, rng: np.random.Generator) -> Vector:
        """Weights uniform within ±√(6 / (fan in + fan out)) (Xavier), b = 0, γ = 1, β = 0."""
        parts: list[NDArray[np.float64]] = []
        for inputs, units, field in zip(self.fit.inputs, UNITS, self.fit.fields, strict=True):
            parts.append(_xavier(rng, inputs, units, field))
            parts += [np.zeros(units), np.ones(units), np.zeros(units)]
        parts += [_xavier(rng, UNITS[-1], self.actions), np.zeros(self.actions)]
        return np.concatenate(parts).astype(np.float32)

    def bind(
        self, theta: Vector, moments: Moments
    ) -> Callable[[NDArray[np.float64]], NDArray[np.float32]]:
        """The network with these parameters: flat observation, black 0, to logits."""
        if self.image == PAPER:
            return self._bind(theta, respond_to_numbers, (self.observation_size,))
        maps, room = self.norms(theta), images.room_for(self.fit, self.layers, self.actions)
        layers, size = self.layers, self.observation_size

        def act(observation: NDArray[Any]) -> NDArray[np.float32]:
            _check_shape(observation, (size,))
            return images.respond(observation, theta, layers, maps, room)

        return act

    def bind_frames(self, theta: Vector) -> Callable[[NDArray[np.uint8]], NDArray[np.float32]]:
        """The same for four frames as they come from an emulator, (4, 84, 84), the oldest first."""
        return self._bind(theta, respond_to_frames, FRAMES)

    def norms(self, theta: Vector) -> Norms:
        """Virtual batch norm of these parameters: a scale and a shift for every unit."""
        check_theta(theta, self.size)
        batch = np.ascontiguousarray(self.reference).reshape(len(self.reference), -1)
        if self.image == PAPER:
            maps = norms()
            adapt(theta, batch, work(self.actions), maps)
        else:
            maps = images.norms_of(self.fit)
            room = images.room_for(self.fit, self.layers, self.actions)
            images.adapt(theta, batch, self.layers, room, maps)
        return maps

    def _bind(
        self, theta: Vector, respond: Callable[..., Vector], shape: tuple[int, ...]
    ) -> Callable[[NDArray[Any]], NDArray[np.float32]]:
        check_theta(theta, self.size)
        batch, maps, room = np.ascontiguousarray(self.reference), norms(), work(self.actions)
        adapt(theta, batch.reshape(len(batch), -1), room, maps)

        def act(observation: NDArray[Any]) -> NDArray[np.float32]:
            _check_shape(observation, shape)
            return respond(observation, theta, maps, room)

        return act


def _check_shape(observation: NDArray[Any], shape: tuple[int, ...]) -> None:
    if observation.shape != shape:
        raise UsageError(f"an observation must have shape {shape}, got {observation.shape}.")


def _xavier(
    rng: np.random.Generator, inputs: int, units: int, field: int = 1
) -> NDArray[np.float64]:
    limit = np.sqrt(6 / (inputs + field * units))
    return rng.uniform(-limit, limit, inputs * units)
