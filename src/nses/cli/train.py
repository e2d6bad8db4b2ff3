"""nses train: begin a run or continue it."""

from typing import TYPE_CHECKING

from nses.cli.arguments import configuration, terminal

if TYPE_CHECKING:
    from nses.experiment.settings.config import Config
    from nses.rollouts.tasks.task import Task


def command(argv: list[str]) -> int:
    config = configuration(
        argv, "train", "Train a policy. The defaults shown are those of the task's recipe."
    )
    return pursue_and_show(config)


def pursue_and_show(config: "Config", own: "Task | None" = None) -> int:
    """Bring a run to its end, and show its progress; its task may be a user's own object."""
    from nses.experiment.showing.progress import ProgressView, show_end
    from nses.experiment.showing.publish import draw_run, is_drawn
    from nses.experiment.train import pursue

    console = terminal()
    with ProgressView(config, console) as view:
        run = pursue(config, own, view)
    trained = view.pace.began is not None
    if not trained:
        stop = run.look().stop
        why = f"the run has stopped: {stop.why}" if stop else "all generations are already done"
        console.print(f"nothing to train: {why}", highlight=False, soft_wrap=True)
    if config.pictures and (trained or not is_drawn(run)):
        draw_run(run)
    show_end(run, console)
    return 0
