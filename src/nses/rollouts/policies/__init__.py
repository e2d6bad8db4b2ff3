"""What a policy is: a family of functions with d parameters each."""

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from nses.core.moments import Moments
from nses.errors import UsageError


class Policy(Protocol):
    """A plug-in: `nses.train(task, policy=...)` takes one, `nses.check_policy` tests one.

    It goes to the workers by cloudpickle, and belongs to a run as its task does: to look at or to
    continue the run, bring an equal one along.
    """

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
        """How many numbers of an observation to keep running moments of: all, or none (0)."""
        ...

    def init(self, rng: np.random.Generator) -> NDArray[np.float32]:
        """Fresh parameters, (d,)."""
        ...

    def bind(
        self, theta: NDArray[np.float32], moments: Moments
    ) -> Callable[[NDArray[np.float64]], NDArray[np.float32]]:
        """From flat observations to outputs, one number per action dimension or choice.

        Called once at the beginning of every episode: what a policy remembers from step to step
        belongs into the function that is returned, and begins anew with it. Several may be in
        use at a time.
        """
        ...


def check_theta(theta: NDArray[np.float32], size: int) -> None:
    """UsageError unless theta is (size,): compiled code does not look where an array ends."""
    if np.shape(theta) != (size,):
        raise UsageError(
            f"a policy of {size:,} parameters takes theta of shape ({size},), "
            f"got {np.shape(theta)}."
        )
