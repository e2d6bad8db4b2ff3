"""nses estimate: what a run will cost, from a short measurement."""

from dataclasses import dataclass

from nses.cli.arguments import configuration_and, terminal


@dataclass(frozen=True)
class Machines:
    nodes: int | None = None
    """Estimate a cluster of so many nodes like this one, over which --workers are spread evenly; if
    those are not given, every node has as many as this machine has CPUs."""


def command(argv: list[str]) -> int:
    config, machines = configuration_and(
        argv,
        "estimate",
        "Estimate a run's time, CPU time and memory, here or on a cluster, from a short "
        "measurement.",
        Machines,
    )
    from nses.experiment.estimate import estimate, show

    show(estimate(config, machines.nodes), config, terminal())
    return 0
