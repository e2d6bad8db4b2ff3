"""The result of a run in words: how sure its scores are, and how its best policy does elsewhere."""

from collections.abc import Mapping, Sequence

import numpy as np

from nses.core.seeding import is_exact
from nses.experiment.runs.run import Run
from nses.experiment.runs.start import START
from nses.experiment.runs.storage import CheckpointRefused
from nses.rollouts.tasks.bodies import unlike_its_task
from nses.words import short

Result = tuple[str, str]  # a number, and how it came about


def certainty(run: Run) -> str:
    """What kind of number the best score is."""
    if run.exact:
        return f"exact, the mean over all {len(run.starts)} starts of an episode"
    return "the maximum of many noisy means, so it is too optimistic"


def conditions_of(run: Run) -> dict[str, str]:
    """What a reader of a score must know: another simulation, training or beginning."""
    config = run.config
    known = {
        "simulation": unlike_its_task(config.task, config.environment_arguments),
        "training environment": " ".join(config.training_environment),
        "training reward": f"that of the task minus {config.training_reward:g} per step"
        * bool(config.training_reward),
        "started from": _origin(run),
    }
    return {name: words for name, words in known.items() if words}


def _origin(run: Run) -> str:
    try:
        return str(run.origin or "")
    except CheckpointRefused:  # looking at a run does not need it
        return f"{run.config.start_from}, but {START} cannot be read"


def retest_of(run: Run, returns: Sequence[float]) -> Result:
    """The re-test of the best policy, in which luck has no part."""
    if is_exact(run.config.retest_episodes, run.starts):
        return short(float(np.mean(returns))), f"exact, over all {len(returns)} starts"
    return spread(returns, "fresh ")


def in_variations(variations: Mapping[str, Sequence[float]]) -> dict[str, Result]:
    """What the best policy gets in variations of its task, by name."""
    return {name: spread(returns) for name, returns in variations.items() if returns}


def spread(returns: Sequence[float], kind: str = "") -> Result:
    mean, std = float(np.mean(returns)), float(np.std(returns))
    return short(mean), f"± {short(std)} in {episodes(len(returns), kind)}"


def episodes(count: int, kind: str = "") -> str:
    return f"{count} {kind}episode{'s' * (count != 1)}"
