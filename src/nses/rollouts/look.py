"""A first look at a task, before anything is written or trained: does it work, what does it show?

It is taken in stages, since the process that takes it may not survive the next one.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from nses.rollouts.spaces import describe, space_from
from nses.rollouts.tasks.task import Facts, Task

Stage = tuple[str, Any]  # its name, and what it found, as data


@dataclass(frozen=True)
class Look:
    """What a first look found."""

    facts: Facts


def stages(task: Task) -> Iterator[Stage]:
    """The look, stage by stage; ValueError where the task does not work."""
    environment = task.made()
    try:
        yield "made", None
        facts = task.facts_in(environment)
        shown = describe(facts.observation_space), describe(facts.action_space)
        yield "facts", (*shown, facts.behavior_size)
    finally:
        with suppress(Exception):  # it has shown what it can do
            environment.close()


def look_of(found: dict[str, Any]) -> Look:
    """All stages together."""
    observation, action, behavior_size = found["facts"]
    return Look(Facts(space_from(observation), space_from(action), behavior_size))
