"""nses doctor: check that this machine is ready."""

from nses.cli.arguments import Nothing, parse, terminal


def command(argv: list[str]) -> int:
    parse(Nothing, argv, "doctor", "Check that this machine is ready.")
    from nses.experiment.doctor import examine, show

    return 0 if show(examine(), terminal()) else 1
