"""Check that a task and a policy for it are sound, and report what was checked."""

from nses.execution.looking import look
from nses.experiment.settings.build import sees_pixels, task_tried, with_network
from nses.experiment.settings.config import Config
from nses.experiment.settings.pixels import flattened, refuse_pixels
from nses.rollouts.conformance import check_task
from nses.rollouts.policies import Policy
from nses.rollouts.policies.own import policy_from
from nses.rollouts.policy_conformance import check_policy, remembers
from nses.rollouts.tasks.gymnasium import is_ours
from nses.rollouts.tasks.task import Facts


def check(config: Config) -> list[str]:
    """What was checked, a line each; TaskBroken or another UsageError at the first violation."""
    task = task_tried(config)
    if is_ours(task):
        check_task(task)
        facts = task.facts
    else:
        facts = look(task, config.deadline, thorough=True).facts
    task = task.knowing(facts)
    refuse_pixels(config, task)
    policy = None if config.policy_class is None else policy_from(config.policy_class, facts)
    if policy is not None:
        check_policy(policy, task)
    b = facts.behavior_size
    size = f"{b} number{'s' * (b > 1)}" if b else "a trace"
    network = (
        _network(config, facts)
        if policy is None
        else f"{config.policy_class}: {_described(policy)}"
    )
    return [
        f"{task.name} is sound:",
        f"  observations  {facts.observation_space}, finite and in their space",
        f"  actions       {facts.action_space}",
        f"  behavior      {task.behavior.name}: {size} in every episode",
        f"  step limit    {task.step_limit:,}",
        "  episodes      the same in any order, in a new environment and in a used one",
        *(["  compiled      plays the same episodes, bit for bit"] if task.native else []),
        *([f"  policy        {network}"] if network else []),
    ]


def _described(policy: Policy) -> str:
    memory = "it remembers earlier steps" if remembers(policy) else "it has no memory"
    return f"{policy.size:,} parameters; {memory}"


def _network(config: Config, facts: Facts) -> str:
    """What becomes of an image; nothing to say about other observations."""
    if sees_pixels(with_network(config, facts), facts):
        return "a convolutional network, because observations are images"
    return flattened(config, facts)
