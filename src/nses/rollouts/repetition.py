"""Whether an episode is the same whatever was played before it, in any environment.

If it is not, results depend on the number of workers.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from nses.rollouts.foreign import errors_only, seed_global_generators
from nses.rollouts.plugins import short
from nses.rollouts.spaces import input_of
from nses.rollouts.tasks.task import Task

STEPS = 200  # of an episode, at most
SECONDS = 0.6  # for each of five episodes; slow environments are compared as far as they got

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Played:
    """Reward, end flag and flat observation of the reset and of every step, and the behavior.

    The behavior is None if time ran out before the episode ended.
    """

    seed: int
    rows: list[Floats]
    behavior: NDArray[Any] | None


def differences(task: Task, environment: gym.Env[Any, Any]) -> Iterator[str]:
    """Play A, B, A in an environment, then B, A in a new one; yield what differs after each.

    There is nothing to compare the first two with. A sound environment yields only empty strings.
    """
    space = environment.action_space
    space.seed(0)
    actions = [space.sample() for _ in range(min(STEPS, task.step_limit))]
    first: dict[int, Played] = {}
    for seed in (1, 2):
        first[seed] = _play(task, environment, seed, actions)
        yield ""
    yield difference(first[1], _play(task, environment, 1, actions), "once more")
    with closing(task.made()) as another:
        for seed in (2, 1):
            again = _play(task, another, seed, actions)
            yield difference(first[seed], again, "in a new environment")


def difference(expected: Played, again: Played, where: str) -> str:
    """Where two episodes with the same seed diverge, as a sentence; empty if they do not."""
    for step, (a, b) in enumerate(zip(expected.rows, again.rows, strict=False)):
        if not np.array_equal(a, b, equal_nan=True):
            reset = f"reset(seed={expected.seed})"
            return (
                "the same seed and actions must give the same episode, but "
                f"{f'step {step} after {reset}' if step else reset} gave the reward {a[0]} and the "
                f"observation {short(a[2:])}, {where} {b[0]} and {short(b[2:])}; reset all state "
                "in reset and draw all random numbers from self.np_random, after "
                "super().reset(seed=seed)."
            )
    a, b = expected.behavior, again.behavior
    if a is not None and b is not None and not np.array_equal(a, b, equal_nan=True):
        return (
            f"the same episode must have the same behavior, got {short(a)}, {where} {short(b)}; "
            "a behavior may depend only on observation and info."
        )
    return ""


def _play(task: Task, environment: gym.Env[Any, Any], seed: int, actions: Sequence[Any]) -> Played:
    until = time.monotonic() + SECONDS
    flatten = input_of(environment.observation_space).flatten
    record = task.behavior.record(task.step_limit)
    with errors_only():
        seed_global_generators(seed)  # as in training
        observation, info = environment.reset(seed=seed)
        rows = [np.concatenate([[0.0, 0.0], flatten(observation)])]
        for action in actions:
            if time.monotonic() > until:
                return Played(seed, rows, None)
            observation, reward, terminated, truncated, info = environment.step(action)
            end = bool(terminated or truncated)
            rows.append(np.concatenate([[float(reward), end], flatten(observation)]))
            if record.every_step:
                record.see(observation, info)
            if end:
                break
        return Played(seed, rows, record.result(observation, info))
