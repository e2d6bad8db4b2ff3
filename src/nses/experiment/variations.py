"""The best policy of a run in variations of its task, which training has never played."""

from collections.abc import Callable
from contextlib import closing

from nses.core import archive
from nses.core.seeding import Purpose, evaluation_seeds
from nses.core.values import Best, Candidates, Floats
from nses.execution.backends import BACKENDS
from nses.execution.sharing import Sharers, alone
from nses.experiment.settings.build import plan_of, setup_of
from nses.experiment.settings.config import Config
from nses.rollouts.policies import Policy
from nses.rollouts.tasks.task import Task


def returns_in_variations(
    config: Config,
    task: Task,
    policy: Policy,
    best: Best,
    should_stop: Callable[[], bool],
    sharers: Sharers = alone,
) -> dict[str, Floats]:
    """Its returns in as many episodes as a re-test has, by the name of the variation."""
    returns = {}
    for i, (name, variation) in enumerate(task.variations.items(), start=1):
        seeds = evaluation_seeds(
            config.seed, 0, i, Purpose.RETEST, config.retest_episodes, variation.starts
        )
        no_noise = 1  # nobody is perturbed
        setup = setup_of(config, no_noise, len(seeds), should_stop, sharers)
        plan = plan_of(config, variation, policy)
        with closing(BACKENDS[config.backend].start(plan, setup)) as play:
            candidates = Candidates(best.theta, best.moments, seeds)
            returns[name] = play(candidates, archive.empty(0)).f
    return returns
