"""nses compare: tables, figures and a page of any runs."""

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from nses.cli.arguments import parse, terminal
from nses.errors import UsageError
from nses.words import say

OUTPUT = "comparison"  # where one goes, if its user does not say


@dataclass(frozen=True)
class Arguments:
    runs: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="RUN...")]
    """Run directories, or directories of such."""
    output: str | None = None
    """Where tables, pictures and the page go. If not given: into the directory, if there is
    only one, else into comparison. The page of a single run goes to its own directory."""
    paper: bool = False
    """Show the paper's own numbers beside, marked as quoted."""


def command(argv: list[str]) -> int:
    given = parse(Arguments, argv, "compare", "Medians, intervals, tests and curves of runs.")
    from nses.experiment.analysis.comparison import contests_of
    from nses.experiment.analysis.gather import gathered
    from nses.experiment.runs.run import REPORT
    from nses.experiment.runs.storage import contained
    from nses.experiment.showing.publish import draw_run, publish

    if not given.runs:
        raise UsageError("'nses compare' needs a directory with runs: nses compare runs.")
    console = terminal()
    stories, left_out = gathered(given.runs)
    runs = [story.run for story in stories]
    several = given.runs[0] if len(given.runs) == 1 else OUTPUT
    output = Path(given.output or (several if len(runs) > 1 else runs[0].path / OUTPUT))
    if output.name == OUTPUT and given.output is None:  # which the user has not named
        contained(output.parent, OUTPUT)
    if len(runs) == 1:
        draw_run(runs[0])
        say(console, "page of the run", shlex.quote(str(runs[0].path / REPORT)), width=17)
    command = shlex.join(["nses", "compare", *argv])
    contests = contests_of(stories)
    publish(contests, output, console, command=command, paper=given.paper, left_out=left_out)
    return 0
