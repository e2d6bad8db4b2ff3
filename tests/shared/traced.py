"""A task whose behavior is a trace of bytes, as long as its episodes, which end sooner or later."""

from collections.abc import Collection
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from batches import plan_of, theta_of
from environments import Fault, Faulty, dawdle
from nses.core.archive import Archive, archive_of
from nses.core.moments import initial
from nses.core.seeding import Purpose, generator
from nses.execution.runner import Plan
from nses.rollouts.behaviors import parse_behavior
from nses.rollouts.episode import player
from nses.rollouts.tasks.task import Task

LONGEST = 40


class Remembering(Faulty):
    """Drift for 2 to 40 steps, as the seed will have it, with a memory of some bytes."""

    def __init__(self, fault: Fault, seeds: Collection[int], marks: Path | None, width: int):
        super().__init__(fault, seeds, marks)
        self.bytes, self.end = np.arange(width), 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        found = super().reset(seed=seed, options=options)
        self.end = int(self.np_random.integers(2, LONGEST + 1))
        return found

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        observation, reward, *_ = super().step(action)
        memory = (self.bytes * self.length + int(50 * self.x)) % 256
        info = {"memory": memory.astype(np.uint8)}
        return observation, reward, self.length >= self.end, False, info


def traced(
    fault: Fault = dawdle,
    seeds: Collection[int] = (),
    marks: Path | None = None,
    width: int = 16,
) -> Task:
    """The fault comes in the second step of the episodes of some seeds."""
    make = partial(Remembering, fault, seeds, marks, width)
    return Task("traced", make, parse_behavior("trace:memory"), LONGEST, distance="ram")


def traced_plan(*arguments: Any, **settings: Any) -> Plan:
    return plan_of(traced(*arguments, **settings), distance="ram")


def trace_archive(size: int, longest: int = LONGEST, width: int = 16) -> Archive:
    rng = generator(0, 0, 0, Purpose.EPISODE)
    lengths = rng.integers(1, longest + 1, size)
    return archive_of([rng.integers(0, 256, (T, width), np.uint8) for T in lengths])


def trace_of(seed: int, plan: Plan) -> Any:
    """What the unperturbed episode of a seed leaves behind, seen from outside."""
    play = player(plan.task, plan.policy).play
    return play(theta_of(plan), initial(plan.policy.observation_size), seed).behavior
