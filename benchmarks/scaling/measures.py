"""The promises about many CPUs, and whether the simulation agrees with reality on two."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from datetime import date
from pathlib import Path

import numpy as np

from benchmarks.bodies import seconds_of
from benchmarks.foundation import Measure
from benchmarks.scaling import curves
from benchmarks.scaling.workloads import workloads
from nses.core import archive
from nses.core.algorithms import Search
from nses.core.values import State
from nses.experiment.analysis.machines import UPDATE, Cluster, Work
from nses.experiment.analysis.simulation import simulate
from nses.experiment.settings.build import search_of
from nses.experiment.settings.config import Config
from nses.experiment.settings.recipes import recipe
from nses.rollouts.tasks.catalog import make_task

RESULTS = Path(__file__).parents[1] / "results"
DRAWN = ("humanoid, trained", "Atari, long episodes")
ROUNDS = 5
WITHIN = 0.1  # of reality

# Whose number of generations a run has.
TASKS = {
    "humanoid, trained": "humanoid",
    "humanoid, untrained": "humanoid",
    "Atari, long episodes": "atari:seaquest",
    "frostbite, untrained": "atari:frostbite",
}

# Work, way, least efficiency at 1000 CPUs.
PROMISES = (
    ("humanoid, trained", "ten runs share them", 0.95),
    ("Atari, long episodes", "ten runs share them", 0.95),
    ("humanoid, trained", "from the tail on", 0.93),
    ("Atari, long episodes", "from the tail on", 0.85),
)


def scaling() -> Iterator[Measure]:
    """All curves into a table and a figure; the promises as measures."""
    found = []
    lines = [*curves.HEAD]
    for name, way, outcome in curves.rows():
        found.append((name, way, outcome))
        lines.append(curves.line_of(name, way, outcome))
        print(lines[-1], flush=True)
    title = f"# Simulated generations of the paper's size, {date.today().isoformat()}"
    file = RESULTS / f"{date.today().isoformat()}-cluster-curves.md"
    file.write_text(
        "\n".join([title, "", "`python -m benchmarks cluster-scaling`", "", *lines, ""])
    )
    curves.draw(found, DRAWN)
    for work, way, least in PROMISES:
        (o,) = (o for n, w, o in found if (n, w.name, o.cluster.cpus) == (work, way, 1000))
        yield Measure(
            f"simulated, {work}, 1000 CPUs, {way} ({o.generation:.3g} s a generation)",
            100 * o.efficiency, "%", f"≥ {100 * least:.0f}", o.efficiency >= least,
        )  # fmt: skip


def core_hours() -> Iterator[Measure]:
    """One run of the paper on 1000 CPUs that ten runs share."""
    for name, work in workloads().items():
        task = TASKS[name]
        generations = recipe(task, "paper", "nsra-es").generations
        o = curves.outcome(work, curves.EXPERIMENT, 1000)
        yield Measure(
            f"{name}: a run of {generations} generations, one of ten on 1000 CPUs",
            o.core_hours(generations), "core-hours", "-", True,
        )  # fmt: skip


def reality() -> Iterator[Measure]:
    """Generations with one and two workers against their simulation, in turns.

    With another backend, `compared` does the same for the nodes of a cluster.
    """
    for task, n in (("humanoid", 400), ("swimmer-trap", 60), ("point-trap", 1000)):
        config = replace(recipe(task, "laptop", "nsra-es"), n=n)
        yield from compared(config, (1, 2))


def compared(config: Config, counts: tuple[int, ...]) -> Iterator[Measure]:
    """Real seconds of a generation to simulated ones, by the number of workers."""
    task = make_task(config.task)
    alone: list[float] = []
    taken: dict[int, list[float]] = {count: [] for count in counts}
    with ExitStack() as stack:

        def start(changed: Config) -> Search:
            return stack.enter_context(search_of(changed, task))

        serial = start(replace(config, backend="serial"))
        teams = {count: start(replace(config, workers=count)) for count in counts}
        state = serial.init()
        lengths = played_lengths(serial, state)
        for search in teams.values():
            search.step(state)
        for _ in range(ROUNDS):
            alone.append(seconds_of(lambda: played_lengths(serial, state)))
            for count, search in teams.items():
                taken[count].append(seconds_of(lambda s=search: s.step(state)))
        work = work_of(serial, lengths * float(np.median(alone)) / lengths.sum())
    for count in counts:
        simulated = simulate(work, Cluster(count), generations=5).generation
        ratio = float(np.median(taken[count])) / simulated
        yield Measure(
            f"{config.task}, n = {config.n}, {count} workers: {np.median(taken[count]):.3g} s a "
            "generation to simulated",
            ratio, "×", f"{1 - WITHIN:.2f} to {1 + WITHIN:.2f}", abs(ratio - 1) <= WITHIN,
        )  # fmt: skip


def played_lengths(search: Search, state: State) -> np.ndarray:
    """The lengths of the next generation's episodes."""
    candidates = search.perturb(state.members[0], state.generation)
    return search.evaluate(candidates, archive.empty(0)).lengths


def work_of(search: Search, seconds: np.ndarray) -> Work:
    h = search.hyperparameters
    return Work(seconds=seconds, n=h.n, evaluation_episodes=h.E, members=h.M, update=UPDATE)


MEASURES: dict[str, Callable[[], Iterator[Measure]]] = {
    "cluster-scaling": scaling,
    "cluster-core-hours": core_hours,
    "cluster-reality": reality,
}
