"""The multilayer perceptron of the paper's humanoid, any size."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from nses.core.moments import Moments
from nses.errors import UsageError
from nses.rollouts.native.network import ACTIVATIONS, respond
from nses.rollouts.policies import check_theta, standardization

Vector = NDArray[np.float32]


@dataclass(frozen=True)
class MLP:
    """sizes = (inputs, hidden..., outputs); linear outputs. theta is W, b of each layer in turn."""

    sizes: tuple[int, ...]
    activation: str = "tanh"
    normalize: bool = True

    def __post_init__(self) -> None:
        if len(self.sizes) < 2 or min(self.sizes) < 1:
            raise UsageError(f"an MLP needs layers of at least 1 unit each, got {self.sizes}.")
        if self.activation not in ACTIVATIONS:
            known = " or ".join(ACTIVATIONS)
            raise UsageError(f"activation must be {known}, got {self.activation!r}.")

    @property
    def size(self) -> int:
        """The number of parameters d."""
        return sum((i + 1) * o for i, o in zip(self.sizes, self.sizes[1:], strict=False))

    @property
    def observation_size(self) -> int:
        return self.sizes[0]

    @property
    def moments_size(self) -> int:
        """All of them. Without `normalize` they never change, but runs store them all the same."""
        return self.sizes[0]

    @cached_property
    def shape(self) -> NDArray[np.int64]:
        """The sizes as the compiled code takes them."""
        return np.array(self.sizes)

    def init(self, rng: np.random.Generator) -> Vector:
        """Gaussian columns of norm 1.0, the last layer's of norm 0.01, biases 0."""
        parts = []
        for layer, (i, o) in enumerate(zip(self.sizes, self.sizes[1:], strict=False)):
            W = rng.standard_normal((i, o))
            W *= (0.01 if layer == len(self.sizes) - 2 else 1.0) / np.sqrt((W * W).sum(axis=0))
            parts += [W.ravel(), np.zeros(o)]
        return np.concatenate(parts).astype(np.float32)

    def standardization(self, moments: Moments) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Mean and std of the inputs as the compiled code takes them: empty for raw inputs."""
        return standardization(moments, self.observation_size, self.normalize)

    def buffers(self) -> Vector:
        """Room for two neighbouring layers."""
        return np.zeros((2, max(self.sizes)), np.float32)

    def bind(
        self, theta: Vector, moments: Moments
    ) -> Callable[[NDArray[np.float64]], NDArray[np.float32]]:
        """The network with these parameters: flat observation to outputs."""
        check_theta(theta, self.size)
        mean, std = self.standardization(moments)
        shape, activation, work = self.shape, ACTIVATIONS[self.activation], self.buffers()

        def act(observation: NDArray[np.float64]) -> NDArray[np.float32]:
            return respond(theta, shape, activation, mean, std, observation, work)

        return act
