"""Training: from a configuration to a run on disk, through anything that happens on the way."""

import json
import logging
import shlex
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from nses.core.algorithms import NotFinite, Search
from nses.core.values import Evaluation, State
from nses.execution.evaluator import Interrupted
from nses.experiment import checkpoint
from nses.experiment.build import search_of, task_of
from nses.experiment.config import Config, changed, differences, to_dict
from nses.experiment.interruption import Interruption, Stopped
from nses.experiment.loggers import MetricsLog, TensorBoard, record_of
from nses.experiment.recipes import recipe as recipe_of
from nses.experiment.run import (
    ARCHIVE,
    BEST,
    CHECKPOINTS,
    Run,
    current_versions,
    default_directory,
    load,
    write_config,
)
from nses.experiment.storage import CheckpointRefused, DirectoryLock, StorageFailed
from nses.rollouts.tasks.task import Task

log = logging.getLogger("nses")

Listener = Callable[[State, dict[str, Any]], None]  # after each generation: the state, its record

MOST_FAILED_CHECKPOINTS = 3


def train(
    task: str | Task,
    *,
    algorithm: str = "nsra-es",
    seed: int = 0,
    recipe: str = "laptop",
    run_dir: str | Path | None = None,
    listener: Listener | None = None,
    **hyperparameters: Any,
) -> Run:
    """Train on a task by name or on a Task of your own, and return the run.

    Every setting of `nses train --help` is a keyword. Where `run_dir` holds the same run already,
    it is continued; where it holds another one, CheckpointRefused says how they differ.
    """
    name = task if isinstance(task, str) else task.name
    base = recipe_of(name, recipe, algorithm)
    config = changed(base, {**hyperparameters, "seed": seed, "algorithm": algorithm})
    if isinstance(task, Task) and "distance" not in hyperparameters:
        config = changed(config, {"distance": task.distance})
    return pursue(config, Path(run_dir) if run_dir else None, task, listener)


def resume(
    run_dir: str | Path,
    task: Task | None = None,
    listener: Listener | None = None,
    **settings: Any,
) -> Run:
    """Continue a run exactly where its newest checkpoint stands; `generations` extends it."""
    run = load(run_dir)
    config = changed(run.config, {k: v for k, v in settings.items() if v is not None})
    return pursue(config, run.path, task or config.task, listener)


def pursue(
    config: Config,
    run_dir: Path | None,
    task: str | Task,
    listener: Listener | None = None,
) -> Run:
    """Bring a run to its last generation: begin it, or go on from its newest checkpoint."""
    directory = run_dir or (Path(config.run_dir) if config.run_dir else default_directory(config))
    config = replace(config, run_dir=str(directory))
    task = task_of(config) if isinstance(task, str) else task
    with ExitStack() as stack:
        stack.enter_context(_opened(directory))
        state = _begin_or_continue(directory, config, task)
        stop = stack.enter_context(Interruption())
        search = stack.enter_context(search_of(config, task, stop))
        try:
            _generations(search, state, config, directory, stop, listener or _nobody)
        except Interrupted:
            assert stop.signum is not None
            raise Stopped(stop.signum) from None
    return load(directory)


def _nobody(state: State, record: dict[str, Any]) -> None:
    """The listener of those who do not listen."""


def _opened(directory: Path) -> DirectoryLock:
    """The run directory, made and locked; StorageFailed before anything is evaluated."""
    try:
        (directory / CHECKPOINTS).mkdir(parents=True, exist_ok=True)
        return DirectoryLock(directory)
    except OSError as error:
        raise StorageFailed(f"cannot write to the run directory {directory}: {error}") from error


def _begin_or_continue(directory: Path, config: Config, task: Task) -> State | None:
    """The state to go on from, None for a new run; CheckpointRefused where it is another run."""
    if not (directory / "config.json").exists():
        _store(lambda: write_config(directory, config, task.facts), directory)
        return None
    run = load(directory)
    _refuse_another(directory, config, run.config)
    if run.config != config:
        _store(lambda: write_config(directory, config, task.facts), directory)
    now = current_versions()
    for name, version in run.versions.items():
        if now.get(name) != version:
            log.warning(
                "the run was begun with %s %s, this is %s: the bits may differ.",
                name, version, now.get(name, "missing"),
            )  # fmt: skip
    if not checkpoint.stored(directory / CHECKPOINTS):
        return None
    loaded = checkpoint.load(directory / CHECKPOINTS)
    for note in loaded.notes:
        log.warning("%s", note)
    stored = changed(config, {k: v for k, v in loaded.config.items() if v is not None})
    _refuse_another(directory, config, stored)
    return loaded.state


def _refuse_another(directory: Path, ours: Config, theirs: Config) -> None:
    lines = differences(ours, theirs)
    if lines:
        raise CheckpointRefused(
            f"{directory} holds a run with other settings:\n  " + "\n  ".join(lines) + "\n"
            "Give another --run-dir (run_dir=...), or the same settings."
        )


def _store(write: Callable[[], None], directory: Path) -> None:
    try:
        write()
    except OSError as error:
        raise StorageFailed(f"cannot write to the run directory {directory}: {error}") from error


class Checkpoints:
    """Writes a checkpoint when it is time; a failure is retried at the next generation."""

    def __init__(self, directory: Path, config: Config):
        self.directory, self.config = directory / CHECKPOINTS, config
        self.failures = 0
        self.written = time.monotonic()
        self.generation = -1

    def consider(self, state: State) -> None:
        due = time.monotonic() - self.written >= self.config.checkpoint_seconds
        kept = state.generation % self.config.keep_every == 0
        if due or kept or self.failures:
            self.write(state)

    def write(self, state: State) -> None:
        if state.generation == self.generation:
            return
        try:
            checkpoint.save(
                self.directory, state, to_dict(self.config), keep_every=self.config.keep_every
            )
        except OSError as error:
            self.failures += 1
            if self.failures >= MOST_FAILED_CHECKPOINTS:
                raise StorageFailed(
                    f"the checkpoint of generation {state.generation} could not be written in "
                    f"{self.failures} tries: {error}"
                ) from error
            log.warning(
                "the checkpoint of generation %d could not be written (%s); "
                "trying again after the next.",
                state.generation, error,
            )  # fmt: skip
            return
        self.failures, self.written, self.generation = 0, time.monotonic(), state.generation

    def insist(self, state: State) -> None:
        """At the end there is no next generation: StorageFailed, unless the state is on disk."""
        while self.generation != state.generation:
            self.write(state)


def _generations(
    search: Search,
    state: State | None,
    config: Config,
    directory: Path,
    stop: Interruption,
    listener: Listener,
) -> None:
    saved = Checkpoints(directory, config)
    if state is None:
        state = search.init()
        saved.insist(state)
    saved.generation = state.generation
    with ExitStack() as stack:
        metrics = stack.enter_context(MetricsLog(directory, state.generation))
        events = TensorBoard(directory, state.generation) if config.tensorboard else None
        if events:
            stack.callback(events.close)
        seconds, before, steps = metrics.seconds, time.monotonic(), state.env_steps
        try:
            for after, report in search.run(state, config.generations):
                state = after
                now = time.monotonic()
                seconds, duration, before = seconds + now - before, now - before, now
                record = record_of(report, seconds, duration, state.env_steps - steps)
                steps = state.env_steps
                metrics.write(record)
                if events:
                    events.write(record)
                saved.consider(state)
                listener(state, record)
                if stop():
                    raise Interrupted
            tested = search.retest(state.best, config.retest_episodes)
        except NotFinite as error:
            saved.insist(state)
            raise NotFinite(
                f"{error}; the last good checkpoint is that of generation {state.generation}. "
                "Lower --lr or --sigma, or look at the returns."
            ) from error
        except (Interrupted, KeyboardInterrupt):
            saved.insist(state)
            raise
        saved.insist(state)
        _conclude(directory, state, tested)


def _conclude(directory: Path, state: State, tested: Evaluation) -> None:
    """What users look for at the end: the best policy with its re-test, and the archive."""
    extra = {"retest": json.dumps([float(x) for x in tested.f])}
    _store(lambda: checkpoint.save_best(directory / BEST, state.best, extra), directory)
    _store(lambda: checkpoint.save_archive(directory / ARCHIVE, state.archive), directory)


def resume_command(directory: str | Path) -> str:
    return f"nses resume {shlex.quote(str(directory))}"
