"""Tests of the differences between groups of runs, two by two."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from nses.experiment.analysis.groups import Group
from nses.experiment.analysis.statistics import holm, mann_whitney, signed_rank

BySeed = Mapping[int, float]

FEWEST = 2  # runs of a group that is tested


@dataclass(frozen=True)
class Pair:
    """Two groups against each other, by best scores and by re-tests."""

    task: str
    a: str
    b: str
    u: float  # Mann-Whitney's U of a
    p: float
    p_holm: float  # corrected for all pairs of the task
    effect: float  # how often a run of a beats one of b; 1/2 favours neither
    retest_u: float
    retest_p: float
    retest_p_holm: float
    retest_effect: float
    seeds: int  # that both groups have a score of
    paired_w: float  # Wilcoxon's W over these seeds
    paired_p: float
    paired_p_holm: float
    retest_seeds: int
    retest_paired_w: float
    retest_paired_p: float
    retest_paired_p_holm: float


def couples_of(groups: Sequence[Group]) -> list[tuple[Group, Group]]:
    """Every two groups with several scores, against each other: a single run is an anecdote."""
    several = [group for group in groups if len(group.best) >= FEWEST]
    return list(combinations(several, 2))


def pairs_of(task: str, groups: Sequence[Group]) -> tuple[Pair, ...]:
    couples = couples_of(groups)
    best = [(a.best_by_seed, b.best_by_seed) for a, b in couples]
    tested = [(a.tested_by_seed, b.tested_by_seed) for a, b in couples]
    columns = (_unpaired(best), _unpaired(tested), _paired(best), _paired(tested))
    return tuple(
        Pair(task, a.label, b.label, *(x for tests in row for x in tests))
        for (a, b), *row in zip(couples, *columns, strict=True)
    )


def _unpaired(samples: Sequence[tuple[BySeed, BySeed]]) -> list[tuple[Any, ...]]:
    """U, p, corrected p and effect size of each couple; NaN if a group has too few scores."""
    found = [(list(x.values()), list(y.values())) for x, y in samples]
    enough = {i: pair for i, pair in enumerate(found) if min(map(len, pair)) >= FEWEST}
    results = {i: mann_whitney(x, y) for i, (x, y) in enough.items()}
    corrected = dict(zip(results, holm([r.p for r in results.values()]), strict=True))
    nothing = (np.nan,) * 4
    return [
        (results[i].U, results[i].p, corrected[i], results[i].effect) if i in results else nothing
        for i in range(len(samples))
    ]


def _paired(samples: Sequence[tuple[BySeed, BySeed]]) -> list[tuple[Any, ...]]:
    """Common seeds, W, p and corrected p of each couple; NaN if it has too few in common."""
    common = [sorted({*x} & {*y}) for x, y in samples]
    results = {
        i: signed_rank([x[s] for s in seeds], [y[s] for s in seeds])
        for i, ((x, y), seeds) in enumerate(zip(samples, common, strict=True))
        if len(seeds) >= FEWEST
    }
    corrected = dict(zip(results, holm([r.p for r in results.values()]), strict=True))
    nothing = (np.nan,) * 3
    return [
        (len(seeds), *((results[i].W, results[i].p, corrected[i]) if i in results else nothing))
        for i, seeds in enumerate(common)
    ]
