"""What a policy is: a family of functions with d parameters each."""

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from nses.core.moments import Moments
from nses.errors import UsageError

NO_MOMENTS = np.empty(0)


class Policy(Protocol):
    """A plug-in: `nses.train(task, policy=...)` takes one, `nses.check_policy` tests one.

    cloudpickle sends it to the workers. It belongs to a run just as the task does: pass an equal
    one again to load or resume the run.
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

        Called once at the beginning of every episode. What a policy remembers from step to step
        belongs in the function it returns, so that it starts afresh. Several such functions may
        be in use at once.
        """
        ...


def check_theta(theta: NDArray[np.float32], size: int) -> None:
    """UsageError unless theta is (size,): compiled code does not check bounds."""
    if np.shape(theta) != (size,):
        raise UsageError(
            f"a policy of {size:,} parameters takes theta of shape ({size},), "
            f"got {np.shape(theta)}."
        )


def standardization(
    moments: Moments, size: int, normalize: bool = True
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and std of `size` inputs as the compiled code takes them: empty for raw inputs."""
    if not normalize:
        return NO_MOMENTS, NO_MOMENTS
    if not moments.sum.shape == moments.square.shape == (size,):
        raise UsageError(
            f"a policy of {size} inputs takes moments of as many numbers, got "
            f"sums of shape {moments.sum.shape} and squares of shape {moments.square.shape}."
        )
    return moments.mean, moments.std
