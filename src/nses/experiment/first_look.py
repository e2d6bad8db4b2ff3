"""Before anything is written: does the task work, and does a user's own network fit it?"""

import logging
from dataclasses import replace

from nses.errors import TaskBroken, UsageError
from nses.execution.looking import look
from nses.experiment.runs.document import other_spaces
from nses.experiment.settings.build import training_of
from nses.experiment.settings.config import Config
from nses.rollouts.policies import Policy
from nses.rollouts.policy_conformance import check_policy
from nses.rollouts.sources import source_of
from nses.rollouts.tasks.gymnasium import is_ours
from nses.rollouts.tasks.task import Task

log = logging.getLogger("nses")


def looked_at(task: Task, config: Config) -> Task:
    """The task, with the facts that a trial found; TaskBroken if it does not work.

    The environment in which candidates play is tried as well, if it is another one.
    """
    task = _tried(task, config)
    if (training := training_of(config, task)) is None:
        return task
    try:
        facts = _tried(training, config).facts
    except (TaskBroken, UsageError) as error:
        raise type(error)(f"training_environment: {error}") from error
    if lines := other_spaces(facts, "in training", task.facts, "otherwise"):
        raise UsageError(
            "training_environment must not change observations, actions or the behavior:\n  "
            + "\n  ".join(lines)
        )
    return task


def _tried(task: Task, config: Config) -> Task:
    if is_ours(task):
        return task
    found = look(task, config.deadline)
    if found.difference:
        log.warning(
            "episodes of %s depend on what was played before, so results will depend on the number "
            "of workers and on interruptions. %s 'nses check' checks it again.",
            task.name, found.difference,
        )  # fmt: skip
    return task.knowing(found.facts)


def checked(policy: Policy, task: Task) -> Task:
    """The task, which also knows the source of a user's own policy; UsageError if that is wrong."""
    check_policy(policy, task)
    sources = task.facts.sources | source_of(policy)
    return task.knowing(replace(task.facts, sources=sources))
