"""nses compare: tables, figures and a page that compare runs."""

import shlex
from dataclasses import dataclass
from typing import Annotated

import tyro

from nses.cli.arguments import RunDirectories, parse, required, terminal


@dataclass(frozen=True)
class Arguments:
    directories: RunDirectories
    output: Annotated[
        str | None,
        tyro.conf.arg(
            help="Where tables, pictures and the page go; if not given, the directory to compare "
            "if there is only one, else ./comparison. A single run's page stays with the run."
        ),
    ] = None
    paper: bool = False
    """Show the numbers that the paper reports beside ours."""


def command(argv: list[str]) -> int:
    given = parse(Arguments, argv, "compare", "Compare runs: medians, intervals, tests, curves.")
    directories = required(given.directories, "compare")
    from nses.experiment.compare import compare_on

    command = shlex.join(["nses", "compare", *argv])
    compare_on(terminal(), directories, given.output, given.paper, command)
    return 0
