"""nses evaluate: play fresh episodes with a trained policy."""

import json
from dataclasses import asdict, dataclass

from nses.cli.arguments import PolicyName, RunDirectory, parse, terminal


@dataclass(frozen=True)
class Arguments:
    run: RunDirectory
    policy: PolicyName = "best"
    episodes: int = 30
    """How many episodes."""
    seed: int = 0
    """Chooses the episodes."""
    json: bool = False
    """Print JSON instead of text."""


def command(argv: list[str]) -> int:
    given = parse(Arguments, argv, "evaluate", "Play fresh episodes with a trained policy.")
    from nses.experiment.evaluate import evaluate
    from nses.experiment.runs.run import load

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
