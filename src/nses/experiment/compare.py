"""Compare runs: tables, figures and a page in a directory, and the numbers as values."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from nses.errors import UsageError
from nses.experiment.analysis.comparison import Contest, Row, contests_of
from nses.experiment.analysis.gather import LeftOut, gathered
from nses.experiment.analysis.pairs import Pair
from nses.experiment.runs.run import REPORT, Run
from nses.experiment.runs.storage import contained
from nses.experiment.showing import tables
from nses.experiment.showing.markup import joined, table
from nses.experiment.showing.publish import draw_run, publish
from nses.experiment.showing.terminal import Terminal
from nses.words import say

OUTPUT = "comparison"  # the directory, if the user names none


@dataclass(frozen=True, eq=False)
class Comparison:
    """What `nses compare` found, and where it is written."""

    contests: tuple[Contest, ...]  # one for each task
    left_out: tuple[LeftOut, ...]  # runs that could not be compared, and why
    directory: Path

    @property
    def rows(self) -> list[Row]:
        """The groups in numbers; pandas and Polars make a table of them."""
        return [row for contest in self.contests for row in contest.rows]

    @property
    def pairs(self) -> list[Pair]:
        """The tests of their differences."""
        return [pair for contest in self.contests for pair in contest.pairs]

    @property
    def report(self) -> Path:
        """The page."""
        return self.directory / REPORT

    def __repr__(self) -> str:
        runs = sum(row.runs for row in self.rows)
        tasks = ", ".join(contest.task for contest in self.contests)
        return f"<comparison of {runs} run{'s' * (runs != 1)} on {tasks}, in {self.directory}>"

    def _repr_html_(self) -> str:
        return joined(table(tables.scores(c, paper=False), self.directory) for c in self.contests)


def compare(
    *runs: Run | str | Path | Sequence[Run | str | Path],
    output: str | Path | None = None,
    paper: bool = False,
) -> Comparison:
    """Compare runs, or all runs in directories: medians, intervals, tests, curves and a page.

    They are written to `output`; if that is not given, to the directory to compare if there is only
    one, else to ./comparison.
    """
    every = [x for run in runs for x in (run if isinstance(run, list | tuple) else [run])]
    if not every:
        raise UsageError(
            'nses.compare needs runs or a directory of runs, as in nses.compare("runs").'
        )
    paths = [str(run.path if isinstance(run, Run) else run) for run in every]
    words = ["nses", "compare", *paths]
    words += [] if output is None else ["--output", str(output)]
    words += ["--paper"] if paper else []
    place = None if output is None else str(output)
    return compare_on(Terminal(quiet=True), paths, place, paper, shlex.join(words))


def compare_on(
    console: Console, paths: Sequence[str], output: str | None, paper: bool, command: str
) -> Comparison:
    """The same, shown on a console; `command` is how it was asked for."""
    stories, left_out = gathered(paths)
    runs = [story.run for story in stories]
    several = paths[0] if len(paths) == 1 else OUTPUT
    place = Path(output or (several if len(runs) > 1 else runs[0].path / OUTPUT))
    if place.name == OUTPUT and output is None:  # our own choice must stay inside its parent
        contained(place.parent, OUTPUT)
    if len(runs) == 1:
        draw_run(runs[0])
        say(console, "page of the run", shlex.quote(str(runs[0].path / REPORT)), width=17)
    contests = contests_of(stories)
    publish(contests, place, console, command=command, paper=paper, left_out=left_out)
    return Comparison(tuple(contests), tuple(left_out), place)
