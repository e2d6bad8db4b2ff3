"""nses info: show what a run is and how far it got."""

from dataclasses import dataclass

from nses.cli.arguments import RunDirectory, parse, show_facts, terminal


@dataclass(frozen=True)
class Arguments:
    run: RunDirectory
    json: bool = False
    """Print JSON instead of text."""


def command(argv: list[str]) -> int:
    given = parse(Arguments, argv, "info", "Show what a run is and how far it got.")
    from nses.experiment.runs.run import load
    from nses.experiment.showing.info import facts_of

    show_facts(facts_of(load(given.run)), given.json, terminal())
    return 0
