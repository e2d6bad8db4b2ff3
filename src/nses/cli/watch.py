"""nses watch: serve a live page of runs while they train."""

from dataclasses import dataclass
from typing import Annotated

import tyro

from nses.cli.arguments import parse
from nses.errors import UsageError


@dataclass(frozen=True)
class Arguments:
    directories: Annotated[
        tuple[str, ...],
        tyro.conf.Positional,
        tyro.conf.arg(
            metavar="DIR...",
            help="Run directories, or directories that contain runs; new runs appear on the page.",
            help_behavior_hint="(required)",
        ),
    ]
    port: int = 8050
    """The port of the page, which only this machine can reach; 0 picks a free one."""
    interval: float = 2.0
    """Seconds between updates."""


def command(argv: list[str]) -> int:
    given = parse(Arguments, argv, "watch", "Serve a live page of runs while they train.")
    if not given.directories:
        raise UsageError("'nses watch' needs a directory of runs, as in: nses watch runs")
    from nses.experiment.showing.dashboard import serve

    def say(url: str) -> None:
        print(f"watching {', '.join(given.directories)} at {url} (Ctrl-C to stop)", flush=True)

    serve(given.directories, given.port, given.interval, say)
    return 0
