"""Check that a task is sound, and report what was checked."""

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
        f"  behavior      {task.behavior.name}: {size} in every episode",
        "  episodes      the same in any order, in a new environment and in a used one",
        *(["  compiled      plays the same episodes, bit for bit"] if task.native else []),
    ]
