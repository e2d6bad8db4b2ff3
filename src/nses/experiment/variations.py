"""The best policy of a run in variations of its task, which training has never played."""

from nses.core import archive
from nses.core.seeding import Purpose, evaluation_seeds
from nses.core.values import Best, Candidates, Evaluate, Floats
from nses.experiment.settings.config import Config
from nses.rollouts.tasks.task import Task


def returns_in_variations(
    config: Config, task: Task, evaluate: Evaluate, best: Best
) -> dict[str, Floats]:
    """Its returns in as many episodes as a re-test has, by the name of the variation."""
    returns = {}
    for i, (name, variation) in enumerate(task.variations.items(), start=1):
        seeds = evaluation_seeds(
            config.seed, 0, i, Purpose.RETEST, config.retest_episodes, variation.starts
        )
        candidates = Candidates(best.theta, best.moments, seeds, variation=i)
        returns[name] = evaluate(candidates, archive.empty(0)).f
    return returns
