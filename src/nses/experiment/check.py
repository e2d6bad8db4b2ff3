"""Check that a task and a policy for it are sound, and report what was checked."""

from nses.execution.looking import look
from nses.rollouts.conformance import check_task
from nses.rollouts.policies import Policy
from nses.rollouts.policies.own import policy_from
from nses.rollouts.policy_conformance import check_policy, remembers
from nses.rollouts.tasks.gymnasium import is_ours
from nses.rollouts.tasks.task import Task


def check(task: Task, deadline: float, policy_class: str | None = None) -> list[str]:
    """What was checked, a line each; TaskBroken or another UsageError at the first violation."""
    if is_ours(task):
        check_task(task)
        facts = task.facts
    else:
        facts = look(task, deadline, thorough=True).facts
    policy = None if policy_class is None else policy_from(policy_class, facts)
    if policy is not None:
        check_policy(policy, task.knowing(facts))
    size = f"{facts.behavior_size} numbers" if facts.behavior_size else "a trace"
    return [
        f"{task.name} is sound:",
        f"  observations  {facts.observation_space}, finite and in their space",
        f"  actions       {facts.action_space}",
        f"  behavior      {task.behavior.name}: {size} in every episode",
        "  episodes      the same in any order, in a new environment and in a used one",
        *(["  compiled      plays the same episodes, bit for bit"] if task.native else []),
        *([] if policy is None else [f"  policy        {policy_class}: {_described(policy)}"]),
    ]


def _described(policy: Policy) -> str:
    memory = "it remembers earlier steps" if remembers(policy) else "it has no memory"
    return f"{policy.size:,} parameters; {memory}"
