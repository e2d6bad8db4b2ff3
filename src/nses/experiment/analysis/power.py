"""Whether the tests of a comparison could find anything: how small their p-values can get."""

from collections.abc import Sequence

from nses.experiment.analysis.statistics import mann_whitney

LEVELS = (0.05, 0.01)  # the significance levels of the paper
MOST_RUNS = 1000  # of a group, in the search below


def least_p(x: int, y: int) -> float:
    """The p-value of x against y runs if all of one group beat all of the other, without ties."""
    return mann_whitney(range(x), range(x, x + y)).p


def least_corrected_p(sizes: Sequence[tuple[int, int]]) -> float:
    """The smallest p-value that any of these pairs can have after Holm's correction for all."""
    return min(1.0, len(sizes) * min(least_p(x, y) for x, y in sizes))


def runs_needed(level: float, pairs: int) -> int:
    """The fewest runs per group with which one of `pairs` pairs can get below a level."""
    return next(n for n in range(1, MOST_RUNS) if pairs * least_p(n, n) < level)


def out_of_reach(sizes: Sequence[tuple[int, int]]) -> list[str]:
    """A note if these pairs, given by their numbers of runs, cannot reach a level; else nothing."""
    if not sizes:
        return []
    least, pairs = least_corrected_p(sizes), len(sizes)
    missed = [level for level in LEVELS if least >= level]
    if not missed:
        return []
    needs = " and ".join(f"p < {level} needs {runs_needed(level, pairs)}" for level in missed)
    tests = "one test" if pairs == 1 else f"{pairs} tests"
    return [
        f"too few runs: after Holm's correction for {tests}, no p can be below "
        f"{least:.2g} here, unless scores tie; {needs} runs of each"
    ]
