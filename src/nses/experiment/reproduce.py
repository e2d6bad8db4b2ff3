"""Reproduce an experiment of the paper: train all algorithms on several seeds, then compare."""

import json
import shlex
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from nses.errors import RunsFailed, Stopped, UsageError
from nses.execution.cpus import usable_cpus
from nses.execution.one_cluster import one_cluster
from nses.experiment.analysis.comparison import contests_of
from nses.experiment.analysis.gather import gathered
from nses.experiment.arms import Arm, arms_of
from nses.experiment.fleet import Job, Place, Progress, Reached, reached, train_all
from nses.experiment.runs.document import CONFIG
from nses.experiment.runs.place import same_place
from nses.experiment.runs.run import load
from nses.experiment.runs.storage import CheckpointRefused, contained, slug, storing
from nses.experiment.settings.command import flags_of
from nses.experiment.settings.config import SETTINGS, Config, changed, differences
from nses.experiment.settings.recipes import recipe as recipe_of
from nses.experiment.settings.stopping import STOPS
from nses.experiment.settings.values import value_of
from nses.experiment.showing.progress import PLAIN_SECONDS
from nses.experiment.showing.publish import publish
from nses.experiment.showing.terminal import grid_with
from nses.rollouts.tasks.catalog import make_task
from nses.words import duration, say, short

# The settings that the experiment decides, so that a user cannot.
FIXED = frozenset(name for name, known in SETTINGS.items() if known.experiment)
MOST_RUNS = 10_000  # of each algorithm
ON_RAY = 4  # runs at a time on a cluster: enough to leave nothing idle


def reproduce(
    experiment: str,
    *,
    recipe: str,
    seeds: range,
    workers: int | None,
    directory: Path,
    console: Console,
    settings: Mapping[str, Any] | None = None,
    side_by_side: int | None = None,
    paper: bool = False,
    where: Mapping[str, Any] | None = None,
) -> None:
    """Train every algorithm on every seed, skip finished runs, and compare them all.

    They share the CPUs of this machine, or of the cluster that the settings of `where` name.
    `settings` change the recipe of every run. RunsFailed names the runs that failed, after all
    the others have ended.
    """
    if not 1 <= seeds.stop - seeds.start <= MOST_RUNS:
        count = seeds.stop - seeds.start
        raise UsageError(f"runs must be at least 1 and at most {MOST_RUNS:,}, got {count}.")
    fixed = sorted(FIXED & {*(settings or {})})
    if fixed:
        raise UsageError(f"--settings cannot change {', '.join(fixed)}: the experiment sets that.")
    if workers is not None and workers < 1:
        raise UsageError(f"workers must be at least 1, got {workers}.")
    if side_by_side is not None and side_by_side < 1:
        raise UsageError(f"side_by_side must be at least 1, got {side_by_side}.")
    with same_place():  # a user's module may change the working directory when it is imported
        jobs = _jobs(experiment, recipe, seeds, directory, settings or {})
    jobs = [replace(job, config=changed(job.config, where or {})) for job in jobs]
    progress = {job: reached(job.directory, done=finished(job)) for job in jobs}
    home = directory / slug(experiment)
    for job in jobs:
        contained(directory, str(job.directory.relative_to(directory)))  # no link may lead outside
    contained(directory, home.name)
    with storing(home):
        home.mkdir(parents=True, exist_ok=True)
    again = command(experiment, recipe, seeds, directory, settings or {}, paper, where)
    _train(experiment, progress, workers, side_by_side, again, console)
    stories, left_out = gathered(job.directory for job in jobs)
    contests = contests_of(stories)
    publish(contests, home, console, command=again, paper=paper, left_out=left_out)
    best = max((s for c in contests for s in c.stories), key=lambda story: story.best)
    say(console, "test the best", f"nses evaluate {shlex.quote(str(best.run.path))}")
    twice = range(seeds.start, seeds.start + 2 * len(seeds))
    more = command(experiment, recipe, twice, directory, settings or {}, paper, where)
    say(console, "more seeds", more)


def _jobs(
    experiment: str, recipe: str, seeds: range, directory: Path, settings: Mapping[str, Any]
) -> list[Job]:
    arms = arms_of(experiment)
    decided = sorted({name for arm in arms for name in arm.settings} & {*settings})
    if decided:
        raise UsageError(f"settings cannot change {', '.join(decided)}: {experiment} is about it.")
    for task in dict.fromkeys(arm.task for arm in arms):
        example = changed(recipe_of(task, recipe, "es"), settings)
        for config in (example, example.of_candidates(example.max_steps)):
            arguments = config.environment_arguments
            make_task(task, config.behavior, max_steps=config.max_steps, **arguments)  # or say why
    return [
        _job(arm, recipe, seed, directory, settings)
        for seed in seeds  # the outer loop, so that all advance together
        for arm in arms
    ]


def _job(arm: Arm, recipe: str, seed: int, directory: Path, settings: Mapping[str, Any]) -> Job:
    """A run of an arm, in a directory named after the settings that it changes.

    An arm that changes nothing shares its directory with other experiments, so that nothing is
    trained twice.
    """
    base = changed(recipe_of(arm.task, recipe, arm.algorithm), {"seed": seed, **settings})
    own = {name: value for name, value in arm.settings.items() if getattr(base, name) != value}
    place = directory / replace(arm, settings=own).directory / f"seed-{seed}"
    return Job(changed(base, own), place)


def finished(job: Job) -> bool:
    """Whether nothing is left to do; UsageError if the directory holds another run.

    A damaged run counts as unfinished: training repairs it or says why it cannot.
    """
    if not (job.directory / CONFIG).exists():
        return False
    try:
        run = load(job.directory)
        there, here = run.config.generations, job.config.generations
        asked = job.config.distance or run.config.distance  # else it is the task's own
        lines = differences(replace(job.config, distance=asked), run.config)
        if there > here:
            lines.append(f"generations: {here} given, {there} stored")
        if lines:
            raise UsageError(
                f"{job.directory} holds a run with other settings:\n  " + "\n  ".join(lines) + "\n"
                "Give another --directory, or the settings that it began with."
            )
        stops = {name: getattr(job.config, name) for name in STOPS}
        return there == here and replace(run, config=replace(run.config, **stops)).finished
    except CheckpointRefused:
        return False


def command(
    experiment: str,
    recipe: str,
    seeds: range,
    directory: Path,
    settings: Mapping[str, Any],
    paper: bool = False,
    where: Mapping[str, Any] | None = None,
) -> str:
    """The command line of this experiment."""
    words = ["nses", "reproduce", experiment, "--recipe", recipe, "--runs", str(len(seeds))]
    words += ["--seed", str(seeds.start)] if seeds.start else []
    words += ["--directory", str(directory)]
    words += ["--paper"] if paper else []
    usual = Config(task="")
    words += flags_of({k: v for k, v in (where or {}).items() if v != getattr(usual, k)})
    words += ["--settings", *(f"{name}={text_of(v)}" for name, v in settings.items())] * bool(
        settings
    )
    return shlex.join(words)


def text_of(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def settings_from(pairs: Iterable[str]) -> dict[str, Any]:
    """Settings from NAME=VALUE pairs, each value read as JSON if possible."""
    settings = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals:
            raise UsageError(f"--settings takes NAME=VALUE, such as n=50, got {pair!r}.")
        settings[name.replace("-", "_")] = value_of(f"setting {name}", text)
    return settings


def _train(
    experiment: str,
    progress: Progress,
    workers: int | None,
    side_by_side: int | None,
    again: str,
    console: Console,
) -> None:
    """`train_all`, with everything that a person sees meanwhile."""
    jobs = list(progress)
    todo = sum(not r.done for r in progress.values())
    config, cpus = jobs[0].config, workers or usable_cpus()
    on_ray = config.backend == "ray"
    side_by_side = (side_by_side or ON_RAY) if on_ray else min(cpus, side_by_side or cpus)
    before = len(jobs) - todo
    title = f"{experiment}, {jobs[0].config.recipe} recipe: {len(jobs)} runs"
    title += f", {before} already done" if before else ""
    title += f", {min(side_by_side, todo)} at a time" if todo else ""
    console.print(Text(title), soft_wrap=True)
    view = View(progress, console)
    try:
        with ExitStack() as stack:
            place = Place(side_by_side, cpus)
            if todo and on_ray:
                address = stack.enter_context(one_cluster(config.ray_address, cpus))
                place = Place(side_by_side, workers, address)
            if console.is_terminal:
                stack.enter_context(view.live)
            train_all(jobs, progress, place, view.update, console)
    except (KeyboardInterrupt, Stopped, RunsFailed) as error:
        error.add_note(f"to continue: {again}")
        raise
    if todo:
        took = duration(time.monotonic() - view.began)
        console.print(f"{todo} runs trained in {took}", highlight=False)


class View:
    """Progress of an experiment: a live table in a terminal, otherwise a line now and then."""

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
            self.console.print(Text(self._line(progress)), soft_wrap=True)

    def _left(self, progress: Progress) -> str:
        generations = _generations(progress.values())
        if generations <= self.first:
            return "starting"
        pace = (time.monotonic() - self.began) / (generations - self.first)
        return f"{duration(pace * (self.total - generations))} left"

    def _line(self, progress: Progress) -> str:
        done = sum(r.done for r in progress.values())
        groups = _grouped(progress).items()
        best = ", ".join(f"{name} {short(_best(group.values()))}" for name, group in groups)
        return (
            f"{done}/{len(progress)} runs, {_generations(progress.values()):,}/{self.total:,} "
            f"generations, {self._left(progress)}; best {best}"
        )

    def _table(self, progress: Progress) -> Table:
        table = grid_with("algorithm", "runs", "generations", "", "best so far")
        table.columns[2].justify = "left"

        def add(name: str, group: Sequence[Reached], total: int, last: str) -> None:
            now = _generations(group)
            runs = f"{sum(r.done for r in group)}/{len(group)}"
            table.add_row(Text(name), runs, ProgressBar(total, now, 30), f"{now:,}/{total:,}", last)

        groups = _grouped(progress)
        for name, group in groups.items():
            total = sum(job.config.generations for job in group)
            add(name, list(group.values()), total, short(_best(group.values())))
        table.add_section()
        add("all", list(progress.values()), self.total, self._left(progress))
        return table


def _grouped(progress: Progress) -> dict[str, Progress]:
    """By arm."""
    groups: dict[str, Progress] = {}
    several = len({job.config.task for job in progress}) > 1
    for job, reached_there in progress.items():
        arm = job.directory.parent
        name = f"{job.config.task} {arm.name}" if several else arm.name
        groups.setdefault(name, {})[job] = reached_there
    return groups


def _generations(group: Iterable[Reached]) -> int:
    return sum(r.generation for r in group)


def _best(group: Iterable[Reached]) -> float | None:
    return max((r.best for r in group if r.best is not None), default=None)
