"""Random play, which shows virtual batch norm what a task looks like (PAPER: policies)."""

import numpy as np
from numpy.typing import NDArray

from nses.rollouts.tasks.task import Task

Reference = NDArray[np.uint8]  # observations, (count, ...)

KEPT = 0.01  # of the observations


def random_observations(task: Task, count: int, rng: np.random.Generator) -> Reference:
    """What random play sees, (count, ...): each observation is kept with probability 0.01."""
    environment = task.make()
    try:
        space = environment.action_space
        space.seed(int(rng.integers(1 << 31)))
        kept, wait, end, length = [], int(rng.geometric(KEPT)), True, 0
        while len(kept) < count:
            if end or length == task.step_limit:
                environment.reset(seed=int(rng.integers(1 << 31)))
                length = 0
            observation, _, terminated, truncated, _ = environment.step(space.sample())
            end, length, wait = terminated or truncated, length + 1, wait - 1
            if wait == 0:
                kept.append(np.array(observation))
                wait = int(rng.geometric(KEPT))
    finally:
        environment.close()
    return np.stack(kept)
