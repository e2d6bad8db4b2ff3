"""nses render: film a policy."""

import shlex
from dataclasses import dataclass
from typing import Annotated

import tyro

from nses.cli.arguments import POLICY_HELP, OwnTask, RunDirectory, parse, terminal
from nses.words import duration, say, short


@dataclass(frozen=True)
class Arguments:
    run: RunDirectory
    policy: Annotated[
        str,
        tyro.conf.arg(
            metavar="POLICY",
            help=f"{POLICY_HELP} A candidate is shown in the very episode that it played.",
        ),
    ] = "best"
    episodes: int = 1
    """How many episodes, one after the other."""
    seed: int = 0
    """Chooses the episodes, just as in 'nses evaluate'."""
    grid: bool = False
    """Show all members of the newest checkpoint side by side."""
    output: str | None = None
    """The file; POLICY.mp4 (or members.mp4) in the run directory if not given."""
    speed: float | None = None
    """How many times as fast as the environment's own time; 1 if not given."""
    fps: float | None = None
    """Pictures per second. Without --speed, there is one for each step; by default, at most 30,
    and steps in between are played but not drawn."""
    max_steps: int | None = None
    """Stop after this many steps."""
    task: OwnTask = None


def command(argv: list[str]) -> int:
    given = parse(Arguments, argv, "render", "Film a policy, or all members, as an mp4 video.")
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from nses.experiment.export.video import render, visible
    from nses.experiment.runs.run import load

    run, console = load(given.run), terminal()
    limit = visible(run, given.max_steps, given.task).step_limit
    columns = (
        TextColumn("filming"),
        BarColumn(24),
        TextColumn("step {task.completed:,.0f} of at most {task.total:,.0f}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as p:
        filmed = p.add_task("", total=given.episodes * limit)
        video = render(
            run,
            given.policy,
            episodes=given.episodes,
            seed=given.seed,
            grid=given.grid,
            output=given.output,
            fps=given.fps,
            speed=given.speed,
            max_steps=given.max_steps,
            task=given.task,
            listener=lambda steps: p.advance(filmed, steps),
        )
    width = max(15, *(len(title) + 2 for scene in video.scenes for title, _ in scene))
    for title, episode in (take for scene in video.scenes for take in scene):
        say(console, title, f"return {short(episode.f)} in {episode.length} steps", width)
    size = video.path.stat().st_size / 1e6
    name = shlex.quote(str(video.path))
    say(console, "video", f"{name} ({duration(video.seconds)}, {size:.1f} MB)", width)
    return 0
