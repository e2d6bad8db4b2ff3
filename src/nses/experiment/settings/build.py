"""Builds what a configuration describes; the only file that names concrete plug-ins."""

import logging
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from nses.core.algorithms import ALGORITHMS, Hyperparameters, Search
from nses.core.budget import MOST_ADDED
from nses.core.distances import check_distance
from nses.core.foresight import Foresee
from nses.core.noise import Table, fill_table, table_size
from nses.core.seeding import Purpose, generator
from nses.core.values import Evaluate, Start
from nses.errors import UsageError
from nses.execution.backends import BACKENDS, Setup
from nses.execution.looking import limit_told
from nses.execution.runner import Plan
from nses.execution.sharing import Sharers, alone
from nses.experiment.settings.config import SETTINGS, Config
from nses.experiment.settings.pixels import flattened
from nses.rollouts.behaviors import imported, parse_behavior
from nses.rollouts.episode import never
from nses.rollouts.images import Image, image_of
from nses.rollouts.policies import Policy
from nses.rollouts.policies.conv import PAPER, PIXELS, Conv
from nses.rollouts.policies.gru import GRU
from nses.rollouts.policies.mlp import MLP
from nses.rollouts.policies.own import Network, policy_from
from nses.rollouts.reference import Reference, random_observations
from nses.rollouts.spaces import input_of, output_of
from nses.rollouts.tasks.adapted import Adapted, telling
from nses.rollouts.tasks.catalog import is_shipped, named_task
from nses.rollouts.tasks.gymnasium import bounded, told_here
from nses.rollouts.tasks.task import Facts, Task

log = logging.getLogger("nses")


def task_of(
    config: Config, own: Task | None = None, told: Callable[[Task], int | None] = told_here
) -> Task:
    """The task that a configuration names, or a user's own, revised by its settings.

    `told` asks its environment for a step limit if nothing else tells it.
    """
    for module in config.imports:
        imported(module)
    if own is None:
        task = named_task(
            config.task,
            config.behavior,
            config.distance,
            config.max_steps,
            config.environment_arguments,
        )
    elif config.training_environment:
        raise UsageError(
            "training_environment needs a task and a behavior that are found by their names, as in "
            "module:attribute; objects make an environment of their own."
        )
    elif config.environment:
        wanted = "give them to the function that makes its environment."
        raise UsageError(f"a Task object takes no environment arguments; {wanted}")
    else:
        task = own.revised(
            behavior=None if config.behavior is None else parse_behavior(config.behavior),
            distance=config.distance,
            step_limit=config.max_steps,
        )
    check_distance(task.distance, traces=task.behavior.summary == "trace")
    return bounded(telling(_adapted(task, config)), told)


def task_tried(config: Config, own: Task | None = None) -> Task:
    """The same for a task that nobody has tried yet: a separate process asks its environment."""
    return task_of(config, own, lambda task: limit_told(task, config.deadline))


def training_of(config: Config, task: Task) -> Task | None:
    """What candidates play, if it is not the task itself: the same but for its environment."""
    if not config.training_environment:
        return None
    found = task_of(config.of_candidates(task.step_limit))
    if found.name != task.name:
        raise UsageError(
            "training_environment needs a task that is found by its name, got one of your own "
            f"({task.name!r}) for {config.task!r}."
        )
    return found.revised(behavior=task.behavior, distance=task.distance)


def _adapted(task: Task, config: Config) -> Task:
    """The task as its workers make it: modules are imported first, some entries are observed."""
    if not config.imports and not config.observed:
        return task
    make = Adapted(task.make, config.imports, config.observed)
    # A user's compiled loop observes everything; ours knows what is chosen, or declines.
    native = task.native if is_shipped(task.name) or not config.observed else None
    variations = {name: _adapted(x, config) for name, x in task.variations.items()}
    return replace(task, make=make, native=native, variations=variations)


def own_policy_of(config: Config, facts: Facts, brought: Network | None = None) -> Policy | None:
    """A user's own policy, brought as an object or named by the configuration; None for neither."""
    network = config.policy_class if brought is None else brought
    return None if network is None else policy_from(network, facts)


def policy_of(
    config: Config, facts: Facts, reference: Reference | None = None, own: Policy | None = None
) -> Policy:
    """A user's own policy, or else the built-in one that is asked for or fits the observations."""
    own = own_policy_of(config, facts, own)
    if own is not None:
        return own
    fitting = next(make for fits, make in POLICIES if fits(facts))
    return NETWORKS.get(config.network, fitting)(config, facts, reference)


def _conv(config: Config, facts: Facts, reference: Reference | None) -> Policy:
    """For pixels as in the paper; needs a reference batch."""
    if reference is None:
        raise UsageError("a policy for pixels needs the reference batch of its run.")
    return Conv(output_of(facts.action_space).size, reference, _image(facts))


def _image(facts: Facts) -> Image:
    found = PAPER if has_pixels(facts) else image_of(facts.observation_space)
    if found is None:
        raise UsageError(
            "network conv takes observations that are an image, of bytes or of floats from 0 to 1 "
            f"or 255, got {facts.observation_space}; choose an entry with --observation, or use "
            "network mlp."
        )
    return found


def _mlp(config: Config, facts: Facts, reference: Reference | None) -> Policy:
    return MLP(_sizes(config, facts), config.activation, config.normalize)


def _gru(config: Config, facts: Facts, reference: Reference | None) -> Policy:
    if not config.hidden:
        raise UsageError("network gru needs at least one hidden layer, its units; try hidden=16.")
    return GRU(_sizes(config, facts), config.activation, config.normalize)


def _sizes(config: Config, facts: Facts) -> tuple[int, ...]:
    inputs, outputs = input_of(facts.observation_space), output_of(facts.action_space)
    return (inputs.size, *config.hidden, outputs.size)


def has_pixels(facts: Facts) -> bool:
    """Whether observations are the paper's: always seen by convolutions, unless asked otherwise."""
    space = facts.observation_space
    return space.shape == PIXELS and space.dtype == np.uint8


# The built-in policies: (whether it fits the observations, how to make it). The first fit is taken.
POLICIES = ((has_pixels, _conv), (lambda facts: True, _mlp))
# Those that can be asked for, whatever the observations are.
NETWORKS = {"mlp": _mlp, "gru": _gru, "conv": _conv}


def sees_pixels(config: Config, facts: Facts) -> bool:
    """Whether the policy is the built-in one for pixels."""
    if config.policy_class is not None:
        return False
    return config.network == "conv" or (config.network == "auto" and has_pixels(facts))


def with_network(config: Config, facts: Facts) -> Config:
    """The settings of a new run, where images of any size are seen by convolutions.

    Older runs flattened all but the paper's, which is why `policy_of` does not decide this.
    """
    chosen = config.network != "auto" or config.policy_class is not None
    if chosen or has_pixels(facts) or not image_of(facts.observation_space):
        return config
    return replace(config, network="conv")


def reference_of(config: Config, task: Task) -> Reference | None:
    """The reference batch, from random play, if the policy for this task needs one."""
    if not sees_pixels(config, task.facts):
        return None
    _image(task.facts)  # refuses what is none before anything is played
    rng = generator(config.seed, 0, 0, Purpose.REFERENCE)
    seen = random_observations(task, config.reference, rng, config.reference_sampling)
    return seen if seen.dtype == np.uint8 else seen.astype(np.float32)


def hyperparameters_of(config: Config, distance: str) -> Hyperparameters:
    """The settings that are declared with a symbol of core; the distance may be the task's own."""
    values: dict[str, Any] = {
        declared.symbol: declared.hyperparameter(getattr(config, name))
        for name, declared in SETTINGS.items()
        if declared.symbol is not None
    }
    if not config.normalize:
        values["moments_probability"] = 0.0
    return Hyperparameters(**{**values, "distance": distance})


def largest_call(config: Config) -> int:
    """The most candidates that a search usually asks for at a time."""
    added = MOST_ADDED if config.steps_per_generation else 0
    return max(config.n, added, config.evaluation_episodes, config.behavior_episodes or 0)


def plan_of(config: Config, task: Task, policy: Policy) -> Plan:
    looks = ALGORITHMS[config.algorithm].novelty
    return Plan(task, policy, config.k, task.distance, config.action_noise, config.native, looks)


def training_plan_of(config: Config, task: Task, policy: Policy) -> Plan:
    """The same for candidates too, which may play in another environment."""
    return replace(plan_of(config, task, policy), training=training_of(config, task))


def setup_of(
    config: Config,
    noise_size: int,
    capacity: int,
    should_stop: Callable[[], bool],
    sharers: Sharers,
) -> Setup:
    return Setup(
        noise_size=noise_size,
        capacity=capacity,
        workers=config.workers,
        deadline=config.deadline,
        should_stop=should_stop,
        seed=config.seed,
        ray_address=config.ray_address,
        other_numerics=config.allow_other_numerics,
        sharers=sharers,
        look_ahead=config.look_ahead,
    )


@contextmanager
def search_of(
    config: Config,
    task: Task,
    should_stop: Callable[[], bool] = never,
    reference: Reference | None = None,
    policy: Network | None = None,
    start: Start | None = None,
    sharers: Sharers = alone,
) -> Iterator[Search]:
    """The search that a configuration describes, with its workers, which end with the context.

    The policy may be your own. A built-in one for pixels needs a reference batch; if none is
    given, random play collects it. `start` is the policy that `start_from` names. `sharers` counts
    the runs that share the CPUs.
    """
    if config.start_from is not None and start is None:
        raise UsageError(
            "start_from names a policy that nses.train loads; in a loop of your own, load it and "
            "pass it with start=nses.Start(theta, moments) to search_of."
        )
    own = own_policy_of(config, task.facts, policy)
    if reference is None and own is None:
        reference = reference_of(config, task)
    policy = policy_of(config, task.facts, reference, own)
    if isinstance(policy, MLP) and (said := flattened(config, task.facts)):
        log.warning("%s", said)
    plan = training_plan_of(config, task, policy)
    setup = setup_of(config, table_size(policy.size), largest_call(config), should_stop, sharers)
    row = BACKENDS[config.backend]
    with closing(row.start(plan, setup)) as backend:
        fill_table(backend.noise, config.seed)  # while the workers start
        search = search_with(config, policy, task.distance, backend.noise, backend)
        summed, told = row.weighted_sum(backend), _before(config.generations, row.foresee(backend))
        yield replace(search, starts=task.starts, weighted_sum=summed, start=start, foresee=told)


def _before(last: int, foresee: Foresee) -> Foresee:
    """The same, but nobody looks beyond the last generation."""
    return lambda t, hint: foresee(t, hint) if t < last else None


def search_with(
    config: Config, policy: Policy, distance: str, noise: Table, evaluate: Evaluate
) -> Search:
    return Search(
        algorithm=ALGORITHMS[config.algorithm],
        hyperparameters=hyperparameters_of(config, distance),
        seed=config.seed,
        initial_theta=policy.init,
        moments_size=policy.moments_size,
        noise=noise,
        evaluate=evaluate,
        threads=BACKENDS[config.backend].threads(config.workers),
    )
