"""nses replay: a policy of the past, rebuilt and played again."""

import sys
from dataclasses import dataclass

from nses.cli.arguments import RunDirectory, parse, show_facts, terminal
from nses.execution.output import visible


@dataclass(frozen=True)
class Arguments:
    run: RunDirectory
    generation: int
    """The generation, counted from 1; 0 is before the first."""
    candidate: int | None = None
    """A candidate of that generation, counted from 0; if not given, the updated member."""
    member: int | None = None
    """Another member than the one that was updated."""
    json: bool = False
    """Print JSON in place of text."""


def command(argv: list[str]) -> int:
    given = parse(
        Arguments, argv, "replay", "The very episodes of a policy of the past, played again."
    )
    from nses.experiment.runs.replay import answer, play, rebuild
    from nses.experiment.runs.run import load

    console, run = terminal(), load(given.run)
    past = rebuild(run, given.generation, member=given.member, candidate=given.candidate)
    facts = answer(past, play(run, past))
    show_facts(facts, given.json, console)
    if facts["same bits"] is not False:
        return 0
    versions = ", ".join(f"{name} {version}" for name, version in run.versions.items())
    line = f"nses: this is not the return of the log. The run was begun with {versions}."
    print(visible(f"{line} 'nses doctor' tells what there is here."), file=sys.stderr)
    return 1
