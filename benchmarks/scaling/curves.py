"""Efficiency from 1 to 10,000 CPUs: the table, the figure, and the promises at 1000."""

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import product
from multiprocessing import get_context
from pathlib import Path

from matplotlib.figure import Figure

from benchmarks.scaling.workloads import workloads
from nses.experiment.analysis.machines import RAY, RIGHT, Cluster, Outcome, Tricks, Work
from nses.experiment.analysis.simulation import simulate
from nses.words import short

CPUS = (1, 2, 10, 100, 1000, 10_000)
NODE = 64  # CPUs of a node
FIGURE = Path(__file__).parents[2] / "docs" / "results" / "scaling.png"
HEAD = [
    "| work | runs | with | CPUs | nodes | a generation | efficiency | traffic | most is lost to |",
    "|---|---|---|---|---|---|---|---|---|",
]


@dataclass(frozen=True)
class Way:
    """How runs share CPUs, and what keeps CPUs from waiting."""

    name: str
    runs: int
    tricks: Tricks

    def generations(self, cpus: int) -> int:
        """Enough for one in ten guesses to be wrong, where few CPUs do not make them all alike."""
        return 2 if cpus < 100 or self.runs > 1 else 10


EXPERIMENT = Way("ten runs share them", 10, Tricks(gradient_on_nodes=True, unit=1))
PLAIN = Way("plain", 1, Tricks(unit=1))
WAYS = (
    PLAIN,
    Way("gradient on the nodes", 1, Tricks(gradient_on_nodes=True, unit=1)),
    Way("looking ahead", 1, Tricks(gradient_on_nodes=True, foresight=RIGHT, unit=1)),
    Way("from the tail on", 1, Tricks(gradient_on_nodes=True, foresight=RIGHT, early=True, unit=1)),
    EXPERIMENT,
)


def cluster_of(cpus: int) -> Cluster:
    return Cluster(cpus, -(-cpus // NODE), RAY)


def outcome(work: Work, way: Way, cpus: int) -> Outcome:
    generations = way.generations(cpus)
    cluster = cluster_of(cpus)
    return simulate(work, cluster, runs=way.runs, tricks=way.tricks, generations=generations)


def rows() -> Iterator[tuple[str, Way, Outcome]]:
    """All curves, point by point, simulated on all CPUs of this machine."""
    works = workloads()
    points = list(product(works, WAYS, CPUS))
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        arguments = zip(*((works[name], way, cpus) for name, way, cpus in points), strict=True)
        for (name, way, _), found in zip(points, pool.map(outcome, *arguments), strict=True):
            yield name, way, found


def line_of(name: str, way: Way, o: Outcome) -> str:
    return (
        f"| {name} | {way.runs} | {way.name} | {o.cluster.cpus:,} | {o.cluster.nodes} "
        f"| {short(o.generation)} s | {100 * o.efficiency:.1f} % | {o.bytes / 1e6:,.1f} MB "
        f"| {o.bottleneck} |"
    )


def draw(found: list[tuple[str, Way, Outcome]], names: tuple[str, ...]) -> None:
    """A panel for each work, a curve for each way."""
    figure = Figure(figsize=(10, 4.2), layout="constrained")
    panels = figure.subplots(1, len(names), sharey=True, squeeze=False)[0]
    for panel, name in zip(panels, names, strict=True):
        for way in WAYS:
            mine = [o for n, w, o in found if (n, w) == (name, way)]
            x, y = [o.cluster.cpus for o in mine], [100 * o.efficiency for o in mine]
            panel.plot(x, y, marker="o", markersize=3, label=way.name)
        panel.set(title=name, xscale="log", xlabel="CPUs", ylim=(0, 103))
        panel.grid(alpha=0.3)
    panels[0].set_ylabel("CPU time spent on episodes, %")
    panels[0].legend(loc="lower left")
    FIGURE.parent.mkdir(exist_ok=True)
    figure.savefig(FIGURE, dpi=130)
