"""Commands that look at what there is: evaluate, replay, compare, info, tasks, doctor."""

import sys
from dataclasses import asdict, dataclass
from typing import Annotated

from nses.cli.arguments import Nothing, parse, terminal
from nses.execution.output import visible

OUTPUT = "comparison"  # where one goes, if its user does not say


def evaluate_command(argv: list[str]) -> int:
    import tyro

    @dataclass(frozen=True)
    class Arguments:
        run: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
        """The run directory."""
        policy: str = "best"
        """best, final (the member updated last), member:I, or one of the past: generation:G or
        generation:G:candidate:I."""
        episodes: int = 30
        """How many episodes."""
        seed: int = 0
        """Another seed, other episodes."""
        json: bool = False
        """Print JSON in place of a table."""

    import json

    from nses.experiment.evaluate import evaluate
    from nses.experiment.runs.run import load

    given = parse(Arguments, argv, "evaluate", "Fresh episodes of a trained policy.")
    console = terminal()
    tested = evaluate(load(given.run), given.policy, given.episodes, given.seed)
    if given.json:
        asked = {name: value for name, value in asdict(given).items() if name != "json"}
        print(json.dumps({**asked, **tested.summary}))
    else:
        console.print(
            f"{given.policy} policy of {given.run}: {tested}", highlight=False, soft_wrap=True
        )
    return 0


def replay_command(argv: list[str]) -> int:
    import tyro

    @dataclass(frozen=True)
    class Arguments:
        run: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
        """The run directory."""
        generation: int
        """The generation, counted from 1; 0 is before the first."""
        candidate: int | None = None
        """A candidate of that generation, counted from 0; if not given, the updated member."""
        member: int | None = None
        """Another member than the one that was updated."""
        json: bool = False
        """Print JSON in place of text."""

    import json

    from nses.experiment.runs.replay import answer, play, rebuild
    from nses.experiment.runs.run import load
    from nses.words import say

    given = parse(
        Arguments, argv, "replay", "The very episodes of a policy of the past, played again."
    )
    console, run = terminal(), load(given.run)
    past = rebuild(run, given.generation, member=given.member, candidate=given.candidate)
    facts = answer(past, play(run, past))
    if given.json:
        print(json.dumps(facts))
    else:
        for name, value in facts.items():
            say(console, name, value if isinstance(value, str) else json.dumps(value), width=20)
    if facts["same bits"] is not False:
        return 0
    versions = ", ".join(f"{name} {version}" for name, version in run.versions.items())
    line = f"nses: this is not the return of the log. The run was begun with {versions}."
    print(visible(f"{line} 'nses doctor' tells what there is here."), file=sys.stderr)
    return 1


def compare_command(argv: list[str]) -> int:
    import tyro

    @dataclass(frozen=True)
    class Arguments:
        runs: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="RUN...")]
        """Run directories, or directories of such."""
        output: str | None = None
        """Where tables, pictures and the page go. If not given: into the directory, if there is
        only one, else into comparison. The page of a single run goes to its own directory."""
        paper: bool = False
        """Show the paper's own numbers beside, marked as quoted."""

    import shlex
    from pathlib import Path

    from nses.experiment.analysis.comparison import contests_of
    from nses.experiment.analysis.gather import gathered
    from nses.experiment.runs.run import REPORT
    from nses.experiment.runs.storage import contained
    from nses.experiment.showing.publish import draw_run, publish
    from nses.words import say

    given = parse(Arguments, argv, "compare", "Medians, intervals, tests and curves of runs.")
    if not given.runs:
        raise ValueError("'nses compare' needs a directory with runs: nses compare runs.")
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


def info_command(argv: list[str]) -> int:
    import tyro

    @dataclass(frozen=True)
    class Arguments:
        run: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
        """The run directory."""
        json: bool = False
        """Print JSON in place of a table."""

    import json

    from nses.experiment.runs.run import load
    from nses.experiment.showing.info import facts_of

    given = parse(Arguments, argv, "info", "What a run is and how far it got.")
    facts = facts_of(load(given.run))
    if given.json:
        print(json.dumps(facts))
        return 0
    from nses.words import say

    console = terminal()
    for name, value in facts.items():
        say(console, name, value if isinstance(value, str) else json.dumps(value), width=20)
    return 0


def tasks_command(argv: list[str]) -> int:
    parse(Nothing, argv, "tasks", "The tasks that come along.")
    from nses.experiment.showing.info import show_tasks

    show_tasks(terminal())
    return 0


def doctor_command(argv: list[str]) -> int:
    parse(Nothing, argv, "doctor", "Whether this machine is ready.")
    from nses.experiment.doctor import examine, show

    return 0 if show(examine(), terminal()) else 1
