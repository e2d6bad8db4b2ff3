"""nses compare: tables, figures and a page that compare runs."""

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from nses.cli.arguments import RunDirectories, parse, required, terminal
from nses.words import say

OUTPUT = "comparison"  # the directory, if the user names none


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
    from nses.experiment.analysis.comparison import contests_of
    from nses.experiment.analysis.gather import gathered
    from nses.experiment.runs.run import REPORT
    from nses.experiment.runs.storage import contained
    from nses.experiment.showing.publish import draw_run, publish

    console = terminal()
    stories, left_out = gathered(directories)
    runs = [story.run for story in stories]
    several = directories[0] if len(directories) == 1 else OUTPUT
    output = Path(given.output or (several if len(runs) > 1 else runs[0].path / OUTPUT))
    if output.name == OUTPUT and given.output is None:  # our own choice must stay inside its parent
        contained(output.parent, OUTPUT)
    if len(runs) == 1:
        draw_run(runs[0])
        say(console, "page of the run", shlex.quote(str(runs[0].path / REPORT)), width=17)
    command = shlex.join(["nses", "compare", *argv])
    contests = contests_of(stories)
    publish(contests, output, console, command=command, paper=given.paper, left_out=left_out)
    return 0
