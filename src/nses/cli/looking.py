"""Commands that look at what there is: evaluate, info, tasks, doctor."""

from dataclasses import asdict, dataclass
from typing import Annotated

from nses.cli.arguments import Nothing, parse, terminal


def evaluate_command(argv: list[str]) -> int:
    import tyro

    @dataclass(frozen=True)
    class Arguments:
        run: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
        """The run directory."""
        policy: str = "best"
        """best, final (the member updated last) or member:I."""
        episodes: int = 30
        """How many episodes."""
        seed: int = 0
        """Another seed, other episodes."""
        json: bool = False
        """Print JSON in place of a table."""

    import json

    from nses.experiment.evaluate import evaluate
    from nses.experiment.run import load

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


def info_command(argv: list[str]) -> int:
    import tyro

    @dataclass(frozen=True)
    class Arguments:
        run: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
        """The run directory."""
        json: bool = False
        """Print JSON in place of a table."""

    import json

    from nses.experiment.info import facts_of
    from nses.experiment.run import load

    given = parse(Arguments, argv, "info", "What a run is and how far it got.")
    facts = facts_of(load(given.run))
    if given.json:
        print(json.dumps(facts))
        return 0
    from nses.experiment.progress import say

    console = terminal()
    for name, value in facts.items():
        say(console, name, value if isinstance(value, str) else json.dumps(value), width=20)
    return 0


def tasks_command(argv: list[str]) -> int:
    parse(Nothing, argv, "tasks", "The tasks that come along.")
    from nses.experiment.info import show_tasks

    show_tasks(terminal())
    return 0


def doctor_command(argv: list[str]) -> int:
    parse(Nothing, argv, "doctor", "Whether this machine is ready.")
    from nses.experiment.doctor import examine, show

    return 0 if show(examine(), terminal()) else 1
