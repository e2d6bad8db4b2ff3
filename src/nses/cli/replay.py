"""nses replay: rebuild a past policy and play its episodes again."""

import sys
from dataclasses import dataclass

from nses.cli.arguments import OwnTask, RunDirectory, parse, show_facts, terminal
from nses.execution.output import visible


@dataclass(frozen=True)
class Arguments:
    run: RunDirectory
    generation: int
    """The generation, counted from 1; 0 is the initial population."""
    candidate: int | None = None
    """A candidate of that generation, counted from 0; the updated member if not given."""
    member: int | None = None
    """A member other than the one that was updated."""
    task: OwnTask = None
    json: bool = False
    """Print JSON instead of text."""


def command(argv: list[str]) -> int:
    given = parse(
        Arguments, argv, "replay", "Rebuild a past policy and play the very same episodes again."
    )
    from nses.experiment.runs.replay import answer, play, rebuild
    from nses.experiment.runs.run import load

    console, run = terminal(), load(given.run)
    past = rebuild(run, given.generation, member=given.member, candidate=given.candidate)
    facts = answer(past, play(run, past, given.task))
    show_facts(facts, given.json, console)
    if facts["same bits"] is not False:
        return 0
    versions = ", ".join(f"{name} {version}" for name, version in run.versions.items())
    line = f"nses: the replayed return differs from the logged one. The run began with {versions}."
    print(visible(f"{line} 'nses doctor' shows the versions here."), file=sys.stderr)
    return 1
