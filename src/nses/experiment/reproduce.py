"""An experiment of the paper: all algorithms, several seeds, then one table and one picture."""

import csv
import io
import json
import math
import shlex
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table

from nses.core.algorithms import ALGORITHMS
from nses.execution.cpus import usable_cpus
from nses.experiment import figures
from nses.experiment.config import changed, differences
from nses.experiment.fleet import Job, Progress, Reached, RunsFailed, reached, train_all
from nses.experiment.interruption import Stopped
from nses.experiment.progress import PLAIN_SECONDS, duration, say, short
from nses.experiment.recipes import recipe as recipe_of
from nses.experiment.run import CONFIG, Run, load
from nses.experiment.statistics import BASELINE, Outcome, Row, compare, outcome_of
from nses.experiment.storage import CheckpointRefused, slug, storing, write_atomically
from nses.rollouts.tasks.catalog import make_task
from nses.rollouts.tasks.task import Task

Runs = Mapping[str, Sequence[Run]]  # of each algorithm, in the order of the seeds


def reproduce(
    experiment: str,
    *,
    recipe: str,
    seeds: range,
    workers: int | None,
    directory: Path,
    console: Console,
) -> None:
    """Train every algorithm with every seed, where that is not done yet, and compare them.

    RunsFailed names the runs that failed, after all the others have ended.
    """
    if not seeds:
        raise ValueError(f"runs must be at least 1, got {len(seeds)}.")
    if workers is not None and workers < 1:
        raise ValueError(f"workers must be at least 1, got {workers}.")
    task = make_task(experiment)
    home = directory / slug(experiment)
    jobs = [
        Job(
            changed(recipe_of(experiment, recipe, algorithm), {"seed": seed}),
            home / algorithm / f"seed-{seed}",
            native=task.native is not None,
        )
        for seed in seeds  # the outer loop, so that the algorithms advance together
        for algorithm in ALGORITHMS
    ]
    progress = {job: reached(job.directory, done=finished(job)) for job in jobs}
    with storing(home):
        home.mkdir(parents=True, exist_ok=True)
    again = command(experiment, recipe, seeds, directory)
    _train(jobs, progress, workers or usable_cpus(), again, console)
    runs = {
        algorithm: [load(job.directory) for job in jobs if job.config.algorithm == algorithm]
        for algorithm in ALGORITHMS
    }
    _conclude(task, runs, home, console)
    more = command(experiment, recipe, range(seeds.start, seeds.start + 2 * len(seeds)), directory)
    say(console, "more seeds", more)


def finished(job: Job) -> bool:
    """Whether nothing is left to do; ValueError where the directory holds another run.

    A damaged run counts as unfinished: training into it repairs it, or says why it cannot.
    """
    if not (job.directory / CONFIG).exists():
        return False
    try:
        run = load(job.directory)
        there, here = run.config.generations, job.config.generations
        lines = differences(replace(job.config, distance=run.config.distance), run.config)
        if there > here:
            lines.append(f"generations: {here} here, {there} there")
        if lines:
            raise ValueError(
                f"{job.directory} holds a run with other settings:\n  " + "\n  ".join(lines) + "\n"
                "Give another --directory, or the recipe with which it was begun."
            )
        return there == here and run.finished
    except CheckpointRefused:
        return False


def command(experiment: str, recipe: str, seeds: range, directory: Path) -> str:
    """What a user types for this experiment."""
    words = ["nses", "reproduce", experiment, "--recipe", recipe, "--runs", str(len(seeds))]
    first = ["--seed", str(seeds.start)] if seeds.start else []
    return shlex.join([*words, *first, "--directory", str(directory)])


def _train(
    jobs: Sequence[Job], progress: Progress, cpus: int, again: str, console: Console
) -> None:
    """`train_all`, with everything around it that a person sees."""
    todo = sum(not r.done for r in progress.values())
    config, before = jobs[0].config, len(jobs) - todo
    title = f"{config.task}, {config.recipe} recipe: {len(jobs)} runs"
    title += f", {before} of them done before" if before else ""
    title += f", {min(cpus, todo)} at a time" if todo else ""
    console.print(title, highlight=False, soft_wrap=True)
    view = View(progress, console)
    try:
        with view.live if console.is_terminal else nullcontext():
            train_all(jobs, progress, cpus, view.update, console)
    except (KeyboardInterrupt, Stopped, RunsFailed) as error:
        error.add_note(f"to continue: {again}")
        raise
    if todo:
        took = duration(time.monotonic() - view.began)
        console.print(f"{todo} runs trained in {took}", highlight=False)


class View:
    """Progress of an experiment: a live table in a terminal, a line now and then elsewhere."""

    def __init__(self, progress: Progress, console: Console):
        self.console = console
        self.total = sum(job.config.generations for job in progress)
        self.first = _generations(progress.values())
        self.began = self.shown = time.monotonic()
        self.live = Live(console=console, auto_refresh=False, transient=True)

    def update(self, progress: Progress) -> None:
        now = time.monotonic()
        if self.console.is_terminal:
            self.live.update(self._table(progress), refresh=True)
        elif now - self.shown >= PLAIN_SECONDS:
            self.shown = now
            self.console.print(self._line(progress), highlight=False, soft_wrap=True)

    def _left(self, progress: Progress) -> str:
        generations = _generations(progress.values())
        if generations <= self.first:
            return "starting"
        pace = (time.monotonic() - self.began) / (generations - self.first)
        return f"{duration(pace * (self.total - generations))} left"

    def _line(self, progress: Progress) -> str:
        done = sum(r.done for r in progress.values())
        best = ", ".join(f"{name} {short(_best(group))}" for name, group in _grouped(progress))
        return (
            f"{done}/{len(progress)} runs, {_generations(progress.values()):,}/{self.total:,} "
            f"generations, {self._left(progress)}; best {best}"
        )

    def _table(self, progress: Progress) -> Table:
        table = _table("algorithm", "runs", "generations", "", "best so far")
        table.columns[2].justify = "left"

        def add(name: str, group: Sequence[Reached], total: int, last: str) -> None:
            now = _generations(group)
            runs = f"{sum(r.done for r in group)}/{len(group)}"
            table.add_row(name, runs, ProgressBar(total, now, 30), f"{now:,}/{total:,}", last)

        groups = _grouped(progress)
        for name, group in groups:
            add(name, group, self.total // len(groups), short(_best(group)))
        table.add_section()
        add("all", list(progress.values()), self.total, self._left(progress))
        return table


def _grouped(progress: Progress) -> list[tuple[str, list[Reached]]]:
    """By algorithm."""
    names = dict.fromkeys(job.config.algorithm for job in progress)
    return [(n, [r for job, r in progress.items() if job.config.algorithm == n]) for n in names]


def _generations(group: Iterable[Reached]) -> int:
    return sum(r.generation for r in group)


def _best(group: Iterable[Reached]) -> float | None:
    return max((r.best for r in group if r.best is not None), default=None)


def _conclude(task: Task, runs: Runs, home: Path, console: Console) -> None:
    """The table, on the screen and as files, the picture, and where they are."""
    outcomes = {algorithm: [outcome_of(run) for run in row] for algorithm, row in runs.items()}
    rows = compare(outcomes, task.goal)
    every = [run for row in runs.values() for run in row]
    config = every[0].config
    write_atomically(home / "table.json", _json(task, runs, outcomes, rows))
    write_atomically(home / "table.csv", _csv(rows))
    console.print(table_of(rows, task))
    console.print(
        "median, min, max: the best return of each run, when it won\n"
        f"re-test: median of the best policies' means in {config.retest_episodes} fresh episodes\n"
        "p: two-sided Mann-Whitney U test of the best returns\n",
        style="dim",
        highlight=False,
        soft_wrap=True,
    )
    if all(run.facts.behavior_size == 2 for run in every):
        figures.overhead(runs, figures.scene_of(config), home / "overhead.png")
        say(console, "picture", f"{_quoted(home / 'overhead.png')} (and .pdf)")
    say(console, "table", f"{_quoted(home / 'table.csv')} (and .json)")
    say(console, "runs", f"{_quoted(home)}/ALGORITHM/seed-SEED")
    best = max(every, key=lambda run: run.best.score)
    say(console, "test the best", f"nses evaluate {_quoted(best.path)}")


def table_of(rows: Sequence[Row], task: Task) -> Table:
    """The comparison, for a terminal."""
    goal = "out of the trap" if task.name.endswith("-trap") else "solved"
    headers = ["algorithm", "runs", "median", "min", "max", "re-test"]
    headers += [] if task.goal is None else [goal]
    table = _table(*headers, f"p vs {BASELINE}")
    for row in rows:
        numbers = [short(x) for x in (row.median, row.minimum, row.maximum, row.retest)]
        reached = [] if row.reached is None else [f"{row.reached}/{row.runs}"]
        table.add_row(row.algorithm, str(row.runs), *numbers, *reached, _p(row.p))
    return table


def _table(*headers: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column(headers[0], style="bold", no_wrap=True)
    for header in headers[1:]:
        table.add_column(header, justify="right")
    return table


def _p(p: float | None) -> str:
    if p is None:
        return ""
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def _json(
    task: Task, runs: Runs, outcomes: Mapping[str, Sequence[Outcome]], rows: Sequence[Row]
) -> bytes:
    def numbers(value: Row | Outcome) -> dict[str, Any]:
        """JSON has no NaN and no infinity."""
        return {
            name: None if isinstance(x, float) and not math.isfinite(x) else x
            for name, x in asdict(value).items()
        }

    document = {
        "task": task.name,
        "recipe": runs[BASELINE][0].config.recipe,
        "goal": task.goal,
        "rows": [numbers(row) for row in rows],
        "runs": [
            {"algorithm": algorithm, "seed": run.config.seed, **numbers(outcome)}
            for algorithm in runs
            for run, outcome in zip(runs[algorithm], outcomes[algorithm], strict=True)
        ],
    }
    return (json.dumps(document, indent=1) + "\n").encode()


def _csv(rows: Sequence[Row]) -> bytes:
    text = io.StringIO()
    writer = csv.DictWriter(text, [field.name for field in fields(Row)], lineterminator="\n")
    writer.writeheader()
    writer.writerows(asdict(row) for row in rows)
    return text.getvalue().encode()


def _quoted(path: Path) -> str:
    return shlex.quote(str(path))
