"""A network that remembers: its last hidden layer is a gated recurrent unit."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from nses.core.moments import Moments
from nses.errors import UsageError
from nses.rollouts.native.network import ACTIVATIONS
from nses.rollouts.native.recurrent import respond
from nses.rollouts.policies import check_theta, standardization

Vector = NDArray[np.float32]


@dataclass(frozen=True)
class GRU:
    """sizes = (inputs, hidden..., units, outputs); linear outputs. The units begin at 0.

    theta is W, b of each layer in turn, where the recurrent one has two: [x, h] to its gates r, z,
    then [x, r h] to its new state.
    """

    sizes: tuple[int, ...]
    activation: str = "tanh"  # of the hidden layers in front of the units
    normalize: bool = True

    def __post_init__(self) -> None:
        if len(self.sizes) < 3 or min(self.sizes) < 1:
            raise UsageError(
                "a GRU needs inputs, at least one hidden layer and outputs, of at least 1 unit "
                f"each, got {self.sizes}."
            )
        if self.activation not in ACTIVATIONS:
            known = " or ".join(ACTIVATIONS)
            raise UsageError(f"activation must be {known}, got {self.activation!r}.")

    @cached_property
    def layers(self) -> tuple[tuple[int, int], ...]:
        """(inputs, outputs) of every W in theta, each followed by its b."""
        *front, units, outputs = self.sizes
        joined = front[-1] + units
        hidden = pairwise(front)
        return (*hidden, (joined, 2 * units), (joined, units), (units, outputs))

    @property
    def size(self) -> int:
        """The number of parameters d."""
        return sum((i + 1) * o for i, o in self.layers)

    @property
    def observation_size(self) -> int:
        return self.sizes[0]

    @property
    def moments_size(self) -> int:
        """All of them, as for an MLP."""
        return self.sizes[0]

    @property
    def units(self) -> int:
        """The length of the state."""
        return self.sizes[-2]

    def init(self, rng: np.random.Generator) -> Vector:
        """As an MLP, except for the biases of the gates z: with 1, the units forget slowly."""
        parts = []
        for layer, (i, o) in enumerate(self.layers):
            W = rng.standard_normal((i, o))
            W *= (0.01 if layer == len(self.layers) - 1 else 1.0) / np.sqrt((W * W).sum(axis=0))
            b = np.zeros(o)
            if layer == len(self.layers) - 3:
                b[self.units :] = 1.0
            parts += [W.ravel(), b]
        return np.concatenate(parts).astype(np.float32)

    def bind(
        self, theta: Vector, moments: Moments
    ) -> Callable[[NDArray[np.float64]], NDArray[np.float32]]:
        """The network with these parameters: flat observation to outputs, through one episode."""
        return self.bind_state(theta, moments, np.zeros(self.units, np.float32))

    def bind_state(
        self, theta: Vector, moments: Moments, state: Vector
    ) -> Callable[[NDArray[np.float64]], NDArray[np.float32]]:
        """The same from a given state, which every step overwrites."""
        check_theta(theta, self.size)
        mean, std = standardization(moments, self.observation_size, self.normalize)
        front, activation = np.array(self.sizes[:-2]), ACTIVATIONS[self.activation]
        start = sum((i + 1) * o for i, o in self.layers[:-3])
        outputs, work = self.sizes[-1], np.zeros((2, max(self.sizes)), np.float32)

        def act(observation: NDArray[np.float64]) -> NDArray[np.float32]:
            return respond(
                theta, front, start, activation, mean, std, observation, state, outputs, work
            )

        return act
