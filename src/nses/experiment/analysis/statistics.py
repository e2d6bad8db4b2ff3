"""How algorithms are compared. SciPy does the statistics; it is imported when first needed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

CONFIDENCE = 0.95
RESAMPLES = 9999
BATCH = 4_000_000  # resampled numbers at a time


def median(x: Sequence[float]) -> float:
    """The median of x; NaN if x is empty."""
    return float(np.median(x)) if len(x) else np.nan


def interquartile_mean(x: Sequence[float]) -> float:
    """The mean of x without its lowest and highest quarter; NaN if x is empty."""
    from scipy.stats import trim_mean

    return float(trim_mean(x, 0.25)) if len(x) else np.nan


def median_interval(x: ArrayLike, resamples: int = RESAMPLES) -> NDArray[np.float64]:
    """The bootstrapped 95 % interval of the median over the last axis: its two ends, (2, ...).

    By percentiles of the medians of resampled runs, from one fixed seed, so that the same runs give
    the same interval. NaN for fewer than two runs.
    """
    x = np.asarray(x, np.float64)
    if x.shape[-1] < 2:
        return np.full((2, *x.shape[:-1]), np.nan)
    from scipy.stats import bootstrap

    result = bootstrap(
        (x,),
        np.median,
        confidence_level=CONFIDENCE,
        n_resamples=resamples,
        batch=max(1, BATCH // x.size),
        method="percentile",
        axis=-1,
        rng=np.random.default_rng(0),
    )
    return np.array(result.confidence_interval)


@dataclass(frozen=True)
class Difference:
    """Two samples against each other, by the two-sided Mann-Whitney U test."""

    U: float  # pairs in which the first is greater; ties count half
    p: float
    effect: float  # U as a share of all pairs; 1/2 if neither tends to be greater


def mann_whitney(x: Sequence[float], y: Sequence[float]) -> Difference:
    """Test whether x and y have the same distribution.

    Exact for small samples without ties, else the normal approximation, corrected for ties.
    """
    from scipy.stats import mannwhitneyu

    test = mannwhitneyu(x, y, alternative="two-sided")
    return Difference(float(test.statistic), float(test.pvalue), test.statistic / (len(x) * len(y)))


@dataclass(frozen=True)
class PairedDifference:
    """Two samples that belong together pair by pair, by the two-sided Wilcoxon signed-rank test."""

    W: float  # the smaller of the two sums of ranks
    p: float


def signed_rank(x: Sequence[float], y: Sequence[float]) -> PairedDifference:
    """Test whether the differences x_i - y_i are symmetric about 0; those that are 0 are left out.

    Exact for small samples, else the normal approximation.
    """
    from scipy.stats import wilcoxon

    differences = np.subtract(x, y)
    differences = differences[differences != 0]
    if not len(differences):
        return PairedDifference(0.0, 1.0)
    test: Any = wilcoxon(differences)
    return PairedDifference(float(test.statistic), float(test.pvalue))


def holm(p: Sequence[float]) -> list[float]:
    """p-values of several tests, adjusted so that together they err as rarely as a single one.

    The i-th smallest of m is multiplied by m - i + 1; none is smaller than the one before it.
    """
    order = np.argsort(p, kind="stable")
    adjusted = np.empty(len(p))
    factors = len(p) - np.arange(len(p))
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(np.array(p)[order] * factors))
    return adjusted.tolist()
