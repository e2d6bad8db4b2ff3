"""Random play, to collect the reference batch for virtual batch norm."""

from contextlib import suppress
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from nses.errors import TaskBroken
from nses.rollouts.foreign import errors_only, generators_kept, seed_global_generators
from nses.rollouts.tasks.task import Task

Reference = NDArray[np.uint8 | np.float32]  # observations, (count, ...)

# The probability with which an observation is kept.
SAMPLINGS = {
    "spread": 0.01,
    "consecutive": 1.0,  # the authors' code: the first ones
}


def random_observations(
    task: Task, count: int, rng: np.random.Generator, sampling: str = "spread"
) -> Reference:
    """What random play sees, (count, ...): everything from the first step on, or 1 in 100."""
    environment = task.made()
    try:
        with generators_kept(), errors_only():
            return np.stack(_observations(task, environment, count, rng, SAMPLINGS[sampling]))
    except MemoryError:  # not the fault of the task
        raise
    except Exception as error:
        raise TaskBroken(
            f"random play in {task.name!r} failed: {type(error).__name__}: {error}"
        ) from error
    finally:
        with suppress(Exception):  # we are done with it
            environment.close()


def _observations(
    task: Task,
    environment: gym.Env[Any, Any],
    count: int,
    rng: np.random.Generator,
    probability: float,
) -> list[NDArray[Any]]:
    space = environment.action_space
    space.seed(int(rng.integers(1 << 31)))
    kept, wait, end, length = [], int(rng.geometric(probability)), True, 0
    while len(kept) < count:
        if end or length == task.step_limit:
            seed = int(rng.integers(1 << 31))
            seed_global_generators(seed)
            environment.reset(seed=seed)
            length = 0
        observation, _, terminated, truncated, _ = environment.step(space.sample())
        end, length, wait = terminated or truncated, length + 1, wait - 1
        if wait == 0:
            kept.append(np.array(observation))
            wait = int(rng.geometric(probability))
    return kept
