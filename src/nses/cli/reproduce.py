"""nses reproduce: an experiment of the paper, with all algorithms and several seeds."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from nses.cli.arguments import ListOfText, parse, terminal
from nses.experiment.settings.setting import RecipeName


@dataclass(frozen=True)
class Arguments:
    experiment: Annotated[
        str,
        tyro.conf.Positional,
        tyro.conf.arg(
            metavar="EXPERIMENT",
            help="A task, to train all four algorithms on it; point-trap-1.5, for the paper's "
            "width of the trap; atari, for all twelve games of the paper; or seaquest-weight, for "
            "its study of how fast the weight adapts.",
        ),
    ]
    recipe: RecipeName = "laptop"
    """The settings of every run."""
    runs: int | None = None
    """Seeds per algorithm. If not given: as many as the paper has for its recipe (10 for a body, 5
    for a game), else 5."""
    seed: int = 0
    """The first seed. The same seed gives all algorithms the same start."""
    workers: int | None = None
    """CPUs to use, on all machines together; all that there are if not given."""
    side_by_side: int | None = None
    """Runs at a time, sharing the CPUs; one after the other if 1. If not given: one per CPU, or 4
    on a cluster."""
    backend: Literal["processes", "ray"] = "processes"
    """Where all runs are played: on this machine (processes) or on one Ray cluster (ray)."""
    ray_address: str | None = None
    """HOST:PORT of the head of a Ray cluster; if not given, one is started on this machine."""
    allow_other_numerics: bool = False
    """Let machines play whose versions or processors give other bits."""
    directory: str = "reproduced"
    """Where runs, tables and pictures are kept."""
    paper: bool = False
    """Show the numbers that the paper reports beside ours."""
    settings: ListOfText = ()
    """NAME=VALUE pairs that change the recipe of every run, such as n=50 or behavior=final:x."""


def command(argv: list[str]) -> int:
    given = parse(
        Arguments,
        argv,
        "reproduce",
        "Train all four algorithms on several seeds, then compare; skips finished runs.",
    )
    from nses.experiment.arms import runs_of
    from nses.experiment.reproduce import reproduce, settings_from

    runs = runs_of(given.experiment, given.recipe) if given.runs is None else given.runs
    reproduce(
        given.experiment,
        recipe=given.recipe,
        seeds=range(given.seed, given.seed + runs),
        workers=given.workers,
        directory=Path(given.directory),
        console=terminal(),
        settings=settings_from(given.settings),
        side_by_side=given.side_by_side,
        paper=given.paper,
        where={
            name: getattr(given, name)
            for name in ("backend", "ray_address", "allow_other_numerics")
        },
    )
    return 0
