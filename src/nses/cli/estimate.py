"""nses estimate: what a run will cost, from a short measurement."""

from nses.cli.arguments import configuration, terminal


def command(argv: list[str]) -> int:
    config = configuration(
        argv, "estimate", "Estimate a run's time and memory here, from a short measurement."
    )
    from nses.experiment.estimate import estimate, show

    show(estimate(config), config, terminal())
    return 0
