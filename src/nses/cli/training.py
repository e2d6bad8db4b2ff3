"""Commands that train: train, resume, reproduce; and estimate, which says what that costs."""

from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal

from nses.cli.arguments import configuration, parse, terminal


def train_command(argv: list[str]) -> int:
    config = configuration(
        argv, "train", "Train on a task. The values shown are those of the task's recipe."
    )
    return _train(config)


def _train(config: Any) -> int:
    from nses.experiment.showing.progress import ProgressView, show_end
    from nses.experiment.showing.publish import draw_run, is_drawn
    from nses.experiment.train import pursue

    console = terminal()
    with ProgressView(config, console) as view:
        run = pursue(config, listener=view)
    if view.began is None:
        console.print("nothing to train: all generations were done before")
    if config.pictures and not (view.began is None and is_drawn(run)):
        draw_run(run)
    show_end(run, console)
    return 0


def resume_command(argv: list[str]) -> int:
    import tyro

    @dataclass(frozen=True)
    class Arguments:
        run: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
        """The run directory."""
        generations: int | None = None
        """Extend the run to so many generations in all."""
        workers: int | None = None
        """Worker processes."""
        backend: Literal["auto", "serial", "processes"] = "auto"
        """Where episodes are played; as before if auto."""
        deadline: float = 0.0
        """Seconds after which an episode counts as hanging; as before if 0."""
        checkpoint_seconds: float = -1.0
        """Seconds between checkpoints; as before if negative."""

    from nses.experiment.runs.run import load
    from nses.experiment.settings.config import changed

    given = parse(Arguments, argv, "resume", "Continue a run exactly where it stopped.")
    run = load(given.run)
    run.task()
    as_before = {"backend": "auto", "deadline": 0.0, "checkpoint_seconds": -1.0}
    settings = {
        name: value
        for name, value in asdict(given).items()
        if name != "run" and value is not None and value != as_before.get(name)
    }
    return _train(changed(run.config, settings))


def reproduce_command(argv: list[str]) -> int:
    import tyro

    @dataclass(frozen=True)
    class Arguments:
        experiment: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="EXPERIMENT")]
        """A task, on which all four algorithms are trained; atari, all twelve games of the paper;
        or seaquest-weight, its study of how fast the weight adapts."""
        recipe: Literal["paper", "laptop", "smoke"] = "laptop"
        """The settings of every run."""
        runs: int = 5
        """Seeds per algorithm."""
        seed: int = 0
        """The first seed."""
        workers: int | None = None
        """CPUs to use; all that this process may use if not given."""
        side_by_side: int | None = None
        """Runs at a time, which share the CPUs; one on each CPU if not given. 1 gives all CPUs to
        one run after the other."""
        directory: str = "reproduced"
        """Where runs, tables and pictures are kept."""
        paper: bool = False
        """Show the paper's own numbers beside, marked as quoted."""
        settings: tuple[str, ...] = ()
        """NAME=VALUE pairs that change the recipe for all runs, as in n=50 or behavior=final:x."""

    given = parse(
        Arguments,
        argv,
        "reproduce",
        "Train all four algorithms with several seeds, skipping what is done, and compare them.",
    )
    from pathlib import Path

    from nses.experiment.reproduce import reproduce, settings_from

    reproduce(
        given.experiment,
        recipe=given.recipe,
        seeds=range(given.seed, given.seed + given.runs),
        workers=given.workers,
        directory=Path(given.directory),
        console=terminal(),
        settings=settings_from(given.settings),
        side_by_side=given.side_by_side,
        paper=given.paper,
    )
    return 0


def estimate_command(argv: list[str]) -> int:
    config = configuration(
        argv, "estimate", "Time and memory of a recipe on this machine, from a short measurement."
    )
    from nses.experiment.estimate import estimate, show

    show(estimate(config), config, terminal())
    return 0
