"""nses resume: a run on from its newest checkpoint."""

from dataclasses import asdict, dataclass

from nses.cli.arguments import RunDirectory, parse, with_choices
from nses.cli.train import pursue_and_show


@dataclass(frozen=True)
class Arguments:
    run: RunDirectory
    generations: int | None = None
    """Extend the run to so many generations in all."""
    workers: int | None = None
    """Worker processes."""
    backend: str = "auto"
    """Where episodes are played; as before if auto."""
    deadline: float = 0.0
    """Seconds after which an episode counts as hanging; as before if 0."""
    checkpoint_seconds: float = -1.0
    """Seconds between checkpoints; as before if negative."""


def command(argv: list[str]) -> int:
    given = parse(
        with_choices(Arguments, "auto"),
        argv,
        "resume",
        "Continue a run exactly where it stopped.",
    )
    from nses.experiment.runs.run import load
    from nses.experiment.settings.config import changed

    run = load(given.run)
    run.task()
    as_before = {"backend": "auto", "deadline": 0.0, "checkpoint_seconds": -1.0}
    settings = {
        name: value
        for name, value in asdict(given).items()
        if name != "run" and value is not None and value != as_before.get(name)
    }
    return pursue_and_show(changed(run.config, settings))
