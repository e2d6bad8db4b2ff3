"""nses resume: continue a run from its newest checkpoint."""

from dataclasses import asdict, dataclass
from typing import Annotated, Any

import tyro

from nses.cli.arguments import OwnTask, RunDirectory, parse, with_choices
from nses.cli.train import pursue_and_show

HINT = "(default: as before)"
AS_BEFORE: Any = tyro.conf.arg(help_behavior_hint=HINT)


def _as_before(metavar: str) -> Any:
    return tyro.conf.arg(metavar=metavar, help_behavior_hint=HINT)


@dataclass(frozen=True)
class Arguments:
    run: RunDirectory
    generations: Annotated[int | None, AS_BEFORE] = None
    """Extend the run to this many generations in all."""
    stop_at: Annotated[str | None, _as_before("RETURN")] = None
    """Stop as soon as the best score is this high; 'none' to go on."""
    stop_after: Annotated[str | None, _as_before("GENERATIONS")] = None
    """Stop after so many generations without a better score; 'none' to go on."""
    time_limit: Annotated[str | None, _as_before("TIME")] = None
    """Stop after this time in all, such as 90s, 30m or 1h30m; 'none' to go on."""
    workers: Annotated[int | None, AS_BEFORE] = None
    """Worker processes."""
    backend: str = "auto"
    """Where episodes are played; as before if auto."""
    ray_address: Annotated[str | None, AS_BEFORE] = None
    """HOST:PORT of the head of a Ray cluster."""
    deadline: Annotated[float, AS_BEFORE] = 0.0
    """Seconds after which an episode counts as hanging."""
    checkpoint_seconds: Annotated[float, AS_BEFORE] = -1.0
    """Seconds between checkpoints."""
    task: OwnTask = None


def command(argv: list[str]) -> int:
    given = parse(
        with_choices(Arguments, "auto"),
        argv,
        "resume",
        "Continue a run exactly where it stopped.",
    )
    from nses.experiment.runs.run import load
    from nses.experiment.settings.config import changed
    from nses.experiment.settings.stopping import STOPS
    from nses.experiment.settings.values import value_of

    run = load(given.run)
    run.refuse_without(given.task)
    own = run.own(given.task)
    as_before = {"backend": "auto", "deadline": 0.0, "checkpoint_seconds": -1.0}
    settings = {
        name: value_of(name, value) if name in STOPS else value
        for name, value in asdict(given).items()
        if name not in ("run", "task") and value is not None and value != as_before.get(name)
    }
    return pursue_and_show(changed(run.config, settings), own)
