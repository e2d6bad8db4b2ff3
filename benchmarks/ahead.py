"""Does looking ahead pay on this machine? On and off in turns, in one and the same run."""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.foundation import Measure
from nses.core.algorithms import Search
from nses.core.foresight import ignore
from nses.core.values import State
from nses.execution.cpus import usable_cpus
from nses.experiment.settings.build import search_of, task_of
from nses.experiment.settings.config import changed
from nses.experiment.settings.recipes import recipe

AT_LEAST = 0.99
PAIRS = 12  # of blocks, with and without
WARM_UP = 4  # generations

# What is trained, its settings, and generations in a block, which take about a second.
WORK: tuple[tuple[str, Mapping[str, Any], int], ...] = (
    ("point-trap", {"n": 2000, "evaluation_episodes": 10}, 8),
    ("point-trap", {"n": 100, "evaluation_episodes": 10}, 60),
    ("swimmer-trap", {"n": 40, "evaluation_episodes": 10}, 6),
    ("swimmer-trap", {"n": 10, "evaluation_episodes": 1}, 20),
    ("halfcheetah", {"n": 40, "evaluation_episodes": 10}, 3),
    ("halfcheetah", {"n": 10, "evaluation_episodes": 5}, 6),
    ("humanoid", {"n": 40, "evaluation_episodes": 10}, 8),
    ("atari:frostbite", {"n": 20, "evaluation_episodes": 3, "max_steps": 500}, 2),
)


def steps_per_second(search: Search, state: State, generations: int) -> tuple[State, float, Any]:
    """The speed of a block, without its first generation, which the one before may have begun."""
    state, _ = search.step(state)
    before, steps, evaluations = time.perf_counter(), state.env_steps, []
    for _ in range(generations):
        state, report = search.step(state)
        evaluations.append(report.evaluation)
    return state, (state.env_steps - steps) / (time.perf_counter() - before), evaluations


def compared(task: str, settings: Mapping[str, Any], generations: int) -> Measure:
    """The median ratio of neighbouring blocks; the order alternates."""
    config = changed(recipe(task, "laptop", "nsra-es"), settings)
    config = replace(config, generations=10**6, workers=usable_cpus(), look_ahead=True)
    ratios, guesses = [], []
    idle: dict[bool, list[float]] = {True: [], False: []}
    with search_of(config, task_of(config)) as ahead:
        ways = {True: ahead, False: replace(ahead, foresee=ignore)}
        *_, (state, _) = ahead.run(generations=WARM_UP)
        for i in range(PAIRS):
            rates = {}
            for on in (True, False) if i % 2 else (False, True):
                state, rates[on], seen = steps_per_second(ways[on], state, generations)
                idle[on] += [e.idle for e in seen if e.idle is not None]
                guesses += [e.foreseen for e in seen if on and e.foreseen is not None]
            ratios.append(rates[True] / rates[False])
    ratio = float(np.median(ratios))
    low, high = np.quantile(ratios, [0.25, 0.75])
    what = (
        f"{task}, n {config.n}, E {config.evaluation_episodes}, nsra-es, {config.workers} workers, "
        f"idle {100 * np.mean(idle[False]):.1f} % without and {100 * np.mean(idle[True]):.1f} % "
        f"with, {100 * np.mean(guesses):.0f} % of {len(guesses)} guesses right, quartiles "
        f"{low:.3f} and {high:.3f}"
    )
    return Measure(what, ratio, "x throughput", f">= {AT_LEAST}", ratio >= AT_LEAST)


def everything() -> Iterator[Measure]:
    for task, settings, generations in WORK:
        yield compared(task, settings, generations)


MEASURES: dict[str, Callable[[], Iterator[Measure]]] = {"ahead": everything}
