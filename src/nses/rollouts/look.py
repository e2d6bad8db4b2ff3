"""A first look at a task, before anything is written or trained: does it work, what are its spaces?

It is taken in stages, since the process may not survive the next one.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from nses.rollouts.repetition import differences
from nses.rollouts.spaces import describe, space_from
from nses.rollouts.tasks.gymnasium import limit_in
from nses.rollouts.tasks.task import Facts, Task

Stage = tuple[str, Any]  # its name, and what it found, as data


@dataclass(frozen=True)
class Look:
    """What was found. `difference` says how episodes depend on more than their seed, if they do.

    `limit` is a step limit that the environment has as an attribute.
    """

    facts: Facts
    difference: str = ""
    limit: int | None = None


def stages(task: Task, thorough: bool = False) -> Iterator[Stage]:
    """The look, stage by stage; UsageError if the task does not work.

    A thorough look ends with all of `check_task`, any other with a comparison of a few episodes.
    """
    environment = task.made()
    try:
        yield "made", limit_in(environment)
        facts = task.facts_in(environment)
        shown = describe(facts.observation_space), describe(facts.action_space)
        drawn = facts.behavior, facts.labels, facts.scene
        yield (
            "facts",
            (*shown, facts.behavior_size, facts.sources, *drawn, facts.info, facts.places),
        )
        if not thorough:
            with suppress(Exception):  # training will report an episode that fails
                for difference in differences(task, environment):
                    yield "difference", difference
                    if difference:
                        break
    finally:
        with suppress(Exception):  # we are done with it
            environment.close()
    if thorough:
        from nses.rollouts.conformance import check_task  # here, because it compiles

        check_task(task)
        yield "checked", None


def look_of(found: dict[str, Any]) -> Look:
    """All stages together."""
    observation, action, *others = found["facts"]
    facts = Facts(space_from(observation), space_from(action), *others)
    return Look(facts, found.get("difference", ""), found["made"])
