"""How algorithms are compared: by the best policies of their runs, in medians and p-values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from nses.experiment.run import Run

BASELINE = "es"


@dataclass(frozen=True)
class Outcome:
    """What a run came to: the best policy's score when it won, and its mean in fresh episodes.

    The first is the maximum of noisy means and so a lucky one; the second is not.
    """

    best: float
    retest: float


@dataclass(frozen=True)
class Row:
    """An algorithm in a comparison."""

    algorithm: str
    runs: int
    median: float  # of the runs' best scores, like minimum and maximum
    minimum: float
    maximum: float
    retest: float  # median of the runs' re-tests
    reached: int | None  # runs with a best score above the goal; None without a goal
    p: float | None  # against the baseline; None for itself and where it is missing


def outcome_of(run: "Run") -> Outcome:
    """The outcome of a finished run."""
    return Outcome(run.best.score, float(np.mean(run.retest)))


def compare(outcomes: Mapping[str, Sequence[Outcome]], goal: float | None) -> list[Row]:
    """One row per algorithm, in the order given; each has at least one run."""
    best = {algorithm: [run.best for run in runs] for algorithm, runs in outcomes.items()}
    baseline = best.get(BASELINE)
    return [
        Row(
            algorithm=algorithm,
            runs=len(runs),
            median=median(best[algorithm]),
            minimum=min(best[algorithm]),
            maximum=max(best[algorithm]),
            retest=median([run.retest for run in runs]),
            reached=None if goal is None else sum(score > goal for score in best[algorithm]),
            p=None
            if baseline is None or algorithm == BASELINE
            else mann_whitney(best[algorithm], baseline),
        )
        for algorithm, runs in outcomes.items()
    ]


def median(x: Sequence[float]) -> float:
    """The middle of x, or the mean of its two middles."""
    assert len(x) > 0
    return float(np.median(x))


def mann_whitney(x: Sequence[float], y: Sequence[float]) -> float:
    """Two-sided p-value of the Mann-Whitney U test that x and y have one distribution.

    Exact for small samples without ties, else by the normal approximation with their correction.
    """
    from scipy.stats import mannwhitneyu  # 1.3 s to import

    return float(mannwhitneyu(x, y, alternative="two-sided").pvalue)
