"""The progress of a run: a bar in a terminal, plain lines elsewhere, and a summary at the end."""

import math
import shlex
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, Progress, TaskID, TextColumn
from rich.text import Text

from nses.core.values import State
from nses.experiment.analysis.diagnosis import diagnosed
from nses.experiment.analysis.stories import story_of
from nses.experiment.runs.run import CURVE, REPORT, Run
from nses.experiment.settings.config import Config
from nses.experiment.showing.notebook import NotebookView, in_notebook
from nses.experiment.showing.pace import Pace, numbers
from nses.experiment.showing.results import certainty, in_variations, retest_of
from nses.experiment.showing.terminal import Terminal
from nses.extras import installing, is_installed
from nses.words import say, short

PLAIN_SECONDS = 10.0  # between two lines if the output is not a terminal


class ProgressView:
    """A listener that shows the progress of training; use it as a context manager."""

    def __init__(self, config: Config, console: Console):
        self.config, self.console = config, console
        self.pace = Pace(config.generations)
        self.shown = -math.inf
        self.text = self.unprinted = ""
        self.bar = Progress(
            TextColumn("{task.description}", style="bold", markup=False),
            BarColumn(bar_width=24),
            TextColumn("{task.completed:.0f}/{task.total:.0f}  {task.fields[left]}"),
            console=console,
            auto_refresh=False,
        )
        self.task: TaskID = self.bar.add_task(
            f"{config.task} {config.algorithm}", total=config.generations, left="starting"
        )
        self.live = Live(self, console=console, refresh_per_second=4)

    def __rich__(self) -> Group:
        return Group(self.bar, Text(self.text))

    def __call__(self, state: State, record: dict[str, Any]) -> None:
        now, done = time.monotonic(), record["generation"]
        self.text, left = numbers(record), f"{self.pace.left(done)} left"
        self.bar.update(self.task, completed=done, left=left)
        self.unprinted = f"generation {done}/{self.config.generations}  {self.text}  {left}"
        if not self.console.is_terminal and now - self.shown >= PLAIN_SECONDS:
            self.shown = now
            self._print()

    def _print(self) -> None:
        self.console.print(self.unprinted, soft_wrap=True)
        self.unprinted = ""

    def __enter__(self) -> "ProgressView":
        if self.console.is_terminal:
            self.live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.console.is_terminal:
            self.live.stop()
        elif self.unprinted:  # the last generation, wherever the run has stopped
            self._print()


Listener = Callable[[State, dict[str, Any]], object]


@contextmanager
def watched(config: Config, listener: Listener | None, progress: bool) -> Iterator[Listener | None]:
    """The listener, and a bar besides if `progress` asks for one."""
    if not progress:
        yield listener
        return
    with NotebookView(config) if in_notebook() else ProgressView(config, Terminal()) as view:

        def both(state: State, record: dict[str, Any]) -> None:
            view(state, record)
            if listener is not None:
                listener(state, record)

        yield both


def show_end(run: Run, console: Console) -> None:
    """Show the result, where everything is, and what to do next."""
    now = run.look()
    best, found = now.best, f"generation {now.best.generation}, member {now.best.member}"
    sure = certainty(run) if run.exact else " ".join(retest_of(run, now.retest))
    elsewhere = [f"{name}: {' '.join(x)}" for name, x in in_variations(now.variations).items()]
    directory = shlex.quote(str(run.path))
    network = run.config.policy_class
    loading = repr(str(run.path)) + (f", policy={network!r}" if network else "")
    more = now.stop.flags if now.stop else f"--generations {2 * run.config.generations}"
    lines = {
        **({"stopped": now.stop.why} if now.stop else {}),
        "best policy": f"score {short(best.score)} ({found}); {sure}",
        **({"re-test": "; ".join(elsewhere)} if elsewhere else {}),
        "run": f"{directory} (best.safetensors, archive.safetensors, metrics.jsonl)",
        "test it": f"nses evaluate {directory}",
        "continue it": f"nses resume {directory} {more}",
        "in Python": f"nses.load({loading}).policy('best')(observation)",
    }
    if (run.path / CURVE).exists():
        lines["report"] = shlex.quote(str(run.path / REPORT))
        lines["picture"] = f"{shlex.quote(str(run.path / CURVE))} (and .pdf)"
    if run.config.tensorboard:
        needs = "" if is_installed("tensorboard") else f" (needs {installing('tensorboard')})"
        lines["curves"] = f"tensorboard --logdir {directory}/tensorboard{needs}"
    for name, text in lines.items():
        say(console, name, text)
    for sentence in diagnosed(story_of(run)):
        say(console, "diagnosis", sentence)
