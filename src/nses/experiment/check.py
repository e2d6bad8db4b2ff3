"""Whether a task is sound, and what was looked at to find out."""

from nses.execution.looking import look
from nses.rollouts.conformance import check_task
from nses.rollouts.tasks.gymnasium import is_ours
from nses.rollouts.tasks.task import Task


def check(task: Task, deadline: float) -> list[str]:
    """What was checked, a line each; TaskBroken or another UsageError at the first violation."""
    if is_ours(task):
        check_task(task)
        facts = task.facts
    else:
        facts = look(task, deadline, thorough=True).facts
    size = f"{facts.behavior_size} numbers" if facts.behavior_size else "a trace"
    return [
        f"{task.name} is sound:",
        f"  observations  {facts.observation_space}, finite and in their space",
        f"  actions       {facts.action_space}",
        f"  behavior      {task.behavior.name}: {size}, of the same length in all episodes",
        "  episodes      the same in any order, in a used and in a new environment",
        *(["  compiled      the same episodes, bit for bit"] if task.native else []),
    ]
