"""nses watch: a live page of runs while they train."""

from dataclasses import dataclass
from typing import Annotated

import tyro

from nses.cli.arguments import parse
from nses.errors import UsageError


@dataclass(frozen=True)
class Arguments:
    directories: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="DIR")]
    """Runs, or directories with runs in them; new ones appear by themselves."""
    port: int = 8050
    """Where the page is served, on this machine only; 0 is any free port."""
    interval: float = 2.0
    """Seconds between two looks at the files."""


def command(argv: list[str]) -> int:
    given = parse(Arguments, argv, "watch", "A live page of runs while they train.")
    if not given.directories:
        raise UsageError("'nses watch' needs a directory, such as runs.")
    from nses.experiment.showing.dashboard import serve

    def say(url: str) -> None:
        print(f"watching {', '.join(given.directories)} at {url} (Ctrl-C ends it)", flush=True)

    serve(given.directories, given.port, given.interval, say)
    return 0
