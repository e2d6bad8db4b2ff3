"""The best policies of groups of runs in variations of their task."""

from dataclasses import dataclass

import numpy as np

from nses.experiment.analysis.comparison import Contest
from nses.experiment.analysis.statistics import interquartile_mean, median, median_interval


@dataclass(frozen=True)
class Varied:
    """A group in a variation of the task: over its runs, the mean return of each best policy."""

    task: str
    label: str
    variation: str
    runs: int
    median: float
    low: float  # 95 % bootstrapped interval of the median
    high: float
    iqm: float


def varied(contest: Contest) -> tuple[Varied, ...]:
    """Variation by variation, the groups whose runs have ended in it."""
    rows = []
    for variation in dict.fromkeys(name for s in contest.stories for name in s.variations):
        for group in contest.groups:
            played = [s.variations[variation] for s in group.stories if variation in s.variations]
            means = [float(np.mean(returns)) for returns in played if returns]
            if means:
                low, high = map(float, median_interval(means))
                numbers = median(means), low, high, interquartile_mean(means)
                rows.append(Varied(contest.task, group.label, variation, len(means), *numbers))
    return tuple(rows)
