"""What a policy is: a family of functions with d parameters each."""

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from nses.core.moments import Moments
from nses.errors import UsageError


class Policy(Protocol):
    """A plug-in; `nses.check_policy` tests one."""

    @property
    def size(self) -> int:
        """The number of parameters d."""
        ...

    @property
    def observation_size(self) -> int:
        """The length of a flat observation."""
        ...

    @property
    def moments_size(self) -> int:
        """Of how many of its numbers there are running moments: of all, or of none (0)."""
        ...

    def init(self, rng: np.random.Generator) -> NDArray[np.float32]:
        """Fresh parameters, (d,)."""
        ...

    def bind(
        self, theta: NDArray[np.float32], moments: Moments
    ) -> Callable[[NDArray[np.float64]], NDArray[np.float32]]:
        """From flat observations to outputs, one number per action dimension or choice."""
        ...


def check_theta(theta: NDArray[np.float32], size: int) -> None:
    """UsageError unless theta is (size,): compiled code does not look where an array ends."""
    if np.shape(theta) != (size,):
        raise UsageError(
            f"a policy of {size:,} parameters takes theta of shape ({size},), "
            f"got {np.shape(theta)}."
        )


def moments_size_of(policy: Policy) -> int:
    """Of all numbers of an observation, unless the policy says otherwise."""
    return getattr(policy, "moments_size", policy.observation_size)
