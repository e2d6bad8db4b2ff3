"""nses evaluate: play fresh episodes with a trained policy."""

import json
from dataclasses import asdict, dataclass

from nses.cli.arguments import OwnTask, PolicyName, RunDirectory, parse, terminal


@dataclass(frozen=True)
class Arguments:
    run: RunDirectory
    policy: PolicyName = "best"
    episodes: int = 30
    """How many episodes."""
    seed: int = 0
    """Chooses the episodes."""
    environment: tuple[str, ...] = ()
    """Environment arguments that differ from those of the run, as NAME=VALUE: of a game,
    sticky=0.25 makes actions stick, and least_noops=31 noops=60 begins it later; of a MuJoCo
    body, integrator=RK4 simulates it as in the paper."""
    task: OwnTask = None
    json: bool = False
    """Print JSON instead of text."""


def command(argv: list[str]) -> int:
    given = parse(Arguments, argv, "evaluate", "Play fresh episodes with a trained policy.")
    from nses.experiment.evaluate import evaluate
    from nses.experiment.runs.run import load
    from nses.experiment.settings.config import arguments_of

    console = terminal()
    arguments = arguments_of(given.environment) if given.environment else None
    tested = evaluate(
        load(given.run), given.policy, given.episodes, given.seed, given.task, arguments
    )
    if given.json:
        asked = {k: v for k, v in asdict(given).items() if k not in ("json", "task")}
        print(json.dumps({**asked, **tested.summary}))
    else:
        where = " with " * bool(given.environment) + ", ".join(given.environment)
        console.print(
            f"{given.policy} policy of {given.run}{where}: {tested}",
            highlight=False,
            soft_wrap=True,
        )
    return 0
