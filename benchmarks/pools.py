"""Eight short runs that share the CPUs, against the same runs one after the other with all CPUs.

A run alone leaves CPUs idle while it plays the few episodes that evaluate a member, and at the end
of a generation, when there is nothing left to hand out but episodes are still being played. What
that costs depends on how many candidates and evaluation episodes there are for each CPU. On
thousands of CPUs the paper's settings have a handful of each, and it is much; on the two CPUs of a
laptop only a handful of candidates is like that. So FEW has two candidates for each of two CPUs and
one evaluation episode for both, and its ant falls over after anything from 12 to 1000 steps. MANY,
where there is enough of everything, is there for comparison (`pool-large`).

Runs are started and ended as `nses reproduce` does it, and that is part of what is measured; with
Ray it takes longer than the training, which is why the runs are shorter there. The two ways take
turns, in either order, for as many rounds as fit into the time.
"""

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
from rich.console import Console

from benchmarks.foundation import Measure
from nses.core.algorithms import ALGORITHMS
from nses.execution.cpus import usable_cpus
from nses.execution.one_cluster import one_cluster
from nses.experiment.fleet import Job, Place, Reached, train_all
from nses.experiment.reproduce import ON_RAY
from nses.experiment.runs.run import load
from nses.experiment.settings.config import Config, changed
from nses.experiment.settings.recipes import recipe

SEEDS = 2  # of each algorithm
AT_LEAST = 1.15


@dataclass(frozen=True)
class Work:
    """What each of the runs does, and seconds for all rounds of them."""

    task: str
    n: int
    E: int
    generations: int
    weighs: bool  # whether evaluation and the ends of generations do
    seconds: float

    def config(self, backend: str, algorithm: str, seed: int) -> Config:
        settings = {
            "n": self.n,
            "evaluation_episodes": self.E,
            "generations": self.generations,
            "retest_episodes": 4,
            "seed": seed,
            "backend": backend,
        }
        return changed(recipe(self.task, "laptop", algorithm), settings)


FEW = Work("ant-trap", n=4, E=1, generations=25, weighs=True, seconds=230)
FEW_ON_RAY = replace(FEW, generations=15, seconds=270)
MANY = Work("ant-trap", n=60, E=10, generations=4, weighs=False, seconds=230)


def jobs_in(directory: Path, work: Work, backend: str) -> list[Job]:
    return [
        Job(work.config(backend, algorithm, seed), directory / algorithm / f"seed-{seed}")
        for seed in range(SEEDS)
        for algorithm in ALGORITHMS
    ]


def timed(work: Work, backend: str, place: Place) -> tuple[float, list[str]]:
    """Seconds for all runs, and their digests."""
    with tempfile.TemporaryDirectory(dir=".") as name:
        jobs = jobs_in(Path(name).absolute(), work, backend)
        progress = dict.fromkeys(jobs, Reached())
        with open(os.devnull, "w") as nowhere:
            before = time.perf_counter()
            train_all(jobs, progress, place, lambda progress: None, Console(file=nowhere))
            seconds = time.perf_counter() - before
        return seconds, [load(job.directory).digest for job in jobs]


def rounds(seconds: float) -> Iterator[int]:
    """Numbers, for as long as another round would end in time; there is always one."""
    began, number, longest = time.monotonic(), 0, 0.0
    while not number or time.monotonic() + longest < began + seconds:
        before = time.monotonic()
        yield number
        number, longest = number + 1, max(longest, time.monotonic() - before)


def compared(backend: str, work: Work) -> Iterator[Measure]:
    with ExitStack() as stack:
        cluster, most = None, usable_cpus()
        if backend == "ray":
            cluster, most = stack.enter_context(one_cluster(None, usable_cpus())), ON_RAY
        ways = {runs: Place(runs, usable_cpus(), cluster) for runs in (most, 1)}
        ratios = []
        for number in rounds(work.seconds):
            order = sorted(ways, reverse=bool(number % 2))
            took = {runs: timed(work, backend, ways[runs]) for runs in order}
            assert took[most][1] == took[1][1], "sharing has changed a result"
            ratios.append(took[1][0] / took[most][0])
    ratio = float(np.median(ratios))
    what = (
        f"8 runs of {work.task}, n {work.n}, E {work.E}, {work.generations} generations, "
        f"{backend}: throughput side by side to one after the other, rounds: {len(ratios)}"
    )
    bound = f"≥ {AT_LEAST}" if work.weighs else "-"
    yield Measure(what, ratio, "×", bound, ratio >= AT_LEAST or not work.weighs)


MEASURES: dict[str, Callable[[], Iterator[Measure]]] = {
    "pool-processes": partial(compared, "processes", FEW),
    "pool-large": partial(compared, "processes", MANY),
    "pool-ray": partial(compared, "ray", FEW_ON_RAY),
}
