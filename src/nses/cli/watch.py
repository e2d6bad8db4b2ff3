"""nses watch: serve a live page of runs while they train."""

from dataclasses import dataclass

from nses.cli.arguments import RunDirectories, parse, required


@dataclass(frozen=True)
class Arguments:
    directories: RunDirectories
    port: int = 8050
    """The port of the page, which only this machine can reach; 0 picks a free one."""
    interval: float = 2.0
    """Seconds between updates."""


def command(argv: list[str]) -> int:
    given = parse(
        Arguments, argv, "watch", "Serve a live page of runs, old and new, as they train."
    )
    directories = required(given.directories, "watch")
    from nses.experiment.showing.dashboard import serve

    def say(url: str) -> None:
        print(f"watching {', '.join(directories)} at {url} (Ctrl-C to stop)", flush=True)

    serve(directories, given.port, given.interval, say)
    return 0
