"""From a configuration to what does the work: the only file that names concrete plug-ins."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from nses.core.algorithms import ALGORITHMS, Hyperparameters, Search
from nses.core.noise import fill_table, table_size
from nses.execution.evaluator import Plan
from nses.execution.processes import Processes
from nses.execution.serial import Serial
from nses.experiment.config import Config
from nses.rollouts.behaviors import parse_behavior
from nses.rollouts.episode import never
from nses.rollouts.policies import Policy
from nses.rollouts.policies.mlp import MLP
from nses.rollouts.spaces import input_of, output_of
from nses.rollouts.tasks.catalog import make_task
from nses.rollouts.tasks.task import Facts, Task


def task_of(config: Config, own: Task | None = None) -> Task:
    """The task that a configuration names, or a user's own one with what it says about it."""
    if own is None:
        return make_task(
            config.task,
            config.behavior,
            distance=config.distance,
            max_steps=config.max_steps,
            **config.environment_arguments,
        )
    if config.environment:
        raise ValueError("a Task makes its environment itself and takes no environment arguments.")
    return own.revised(
        behavior=None if config.behavior is None else parse_behavior(config.behavior),
        distance=config.distance,
        step_limit=config.max_steps,
    )


def policy_of(config: Config, facts: Facts) -> Policy:
    inputs, outputs = input_of(facts.observation_space), output_of(facts.action_space)
    sizes = (inputs.size, *config.hidden, outputs.size)
    return MLP(sizes, config.activation, config.normalize)


def hyperparameters_of(config: Config, distance: str) -> Hyperparameters:
    return Hyperparameters(
        n=config.n,
        sigma=config.sigma,
        lr=config.lr,
        l2=config.l2,
        M=config.members,
        k=config.k,
        E=config.evaluation_episodes,
        w=config.weight,
        t_w=config.weight_patience,
        delta_w=config.weight_step,
        min_gain=config.weight_min_gain,
        weight_per_member=config.weight_per_member,
        ordinal_ranks=config.ranks == "ordinal",
        fresh_selection=config.selection == "fresh",
        optimizer=config.optimizer,
        distance=distance,
        moments_probability=config.moments_probability if config.normalize else 0.0,
    )


def plan_of(config: Config, task: Task, policy: Policy) -> Plan:
    return Plan(task, policy, config.k, task.distance, config.action_noise, config.native)


@contextmanager
def search_of(
    config: Config, task: Task, should_stop: Callable[[], bool] = never
) -> Iterator[Search]:
    """The search of a configuration, with its workers, which end with the context."""
    policy = policy_of(config, task.facts)
    plan = plan_of(config, task, policy)
    size = table_size(policy.size)
    if config.backend == "serial":
        evaluator = Serial(plan, should_stop)
        table = np.empty(size, np.float32)
    else:
        evaluator = Processes(
            plan,
            size,
            capacity=max(config.n, config.evaluation_episodes),
            workers=config.workers,
            deadline=config.deadline,
            should_stop=should_stop,
        )
        table = evaluator.noise
    with evaluator:
        fill_table(table, config.seed)  # while the workers start
        yield Search(
            algorithm=ALGORITHMS[config.algorithm],
            hyperparameters=hyperparameters_of(config, task.distance),
            seed=config.seed,
            initial_theta=policy.init,
            observation_size=policy.observation_size,
            noise=table,
            evaluate=evaluator,
        )
