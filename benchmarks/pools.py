"""Eight short runs that share the CPUs, against the same runs one after the other with all CPUs."""

import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from benchmarks.foundation import Measure
from nses.core.algorithms import ALGORITHMS
from nses.execution.cpus import usable_cpus
from nses.execution.one_cluster import one_cluster
from nses.experiment.fleet import Job, Place, Reached, train_all
from nses.experiment.reproduce import ON_RAY
from nses.experiment.runs.run import load
from nses.experiment.settings.config import changed
from nses.experiment.settings.recipes import recipe

SEEDS = 2  # of each algorithm
ROUNDS = 3
AT_LEAST = 1.15

# What a run does, its settings, and whether evaluation and tail weigh in it.
WORK: tuple[tuple[str, Mapping[str, Any], bool], ...] = (
    ("swimmer-trap", {"n": 4, "evaluation_episodes": 1, "generations": 150}, True),
    ("swimmer-trap", {"n": 16, "evaluation_episodes": 3, "generations": 40}, False),
    ("swimmer-trap", {"n": 100, "evaluation_episodes": 10, "generations": 8}, False),
    ("point-trap", {"n": 200, "evaluation_episodes": 10, "generations": 100}, False),
)


def jobs_in(directory: Path, task: str, settings: Mapping[str, Any]) -> list[Job]:
    return [
        Job(
            changed(recipe(task, "laptop", algorithm), {**settings, "seed": seed}),
            directory / algorithm / f"seed-{seed}",
        )
        for seed in range(SEEDS)
        for algorithm in ALGORITHMS
    ]


def timed(task: str, settings: Mapping[str, Any], place: Place) -> tuple[float, list[str]]:
    """Seconds for all runs, and their digests."""
    with tempfile.TemporaryDirectory(dir=".") as name:
        jobs = jobs_in(Path(name).absolute(), task, settings)
        with open(os.devnull, "w") as nowhere:
            before = time.perf_counter()
            train_all(
                jobs,
                dict.fromkeys(jobs, Reached()),
                place,
                lambda progress: None,
                Console(file=nowhere),
            )
            seconds = time.perf_counter() - before
        return seconds, [load(job.directory).digest for job in jobs]


def compared(backend: str) -> Iterator[Measure]:
    """Interleaved, so that both ways see the same load."""
    with ExitStack() as stack:
        cluster, most = None, usable_cpus()
        if backend == "ray":
            cluster, most = stack.enter_context(one_cluster(None, usable_cpus())), ON_RAY
        together, in_turn = (Place(runs, usable_cpus(), cluster) for runs in (most, 1))
        for task, settings, weighs in WORK:
            settings = {**settings, "backend": backend}
            times: list[tuple[float, float]] = []
            for _ in range(ROUNDS):
                pool, digests = timed(task, settings, together)
                alone, same = timed(task, settings, in_turn)
                assert digests == same, "sharing has changed a result"
                times.append((pool, alone))
            ratio = float(np.median([alone / pool for pool, alone in times]))
            what = (
                f"8 runs of {task}, n {settings['n']}, E {settings['evaluation_episodes']}, "
                f"{settings['generations']} generations, {backend}: side by side / in turn"
            )
            bound = f">= {AT_LEAST}" if weighs else "-"
            yield Measure(what, ratio, "x throughput", bound, ratio >= AT_LEAST or not weighs)


MEASURES: dict[str, Callable[[], Iterator[Measure]]] = {
    "pool-processes": partial(compared, "processes"),
    "pool-ray": partial(compared, "ray"),
}
