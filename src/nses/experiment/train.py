"""Training: from a configuration to a run on disk, through anything that happens on the way."""

import errno
import logging
import os
import shlex
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from nses.core.algorithms import Search
from nses.core.values import State
from nses.errors import (
    CheckpointRefused,
    NotFinite,
    Stopped,
    StopTraining,
    StorageFailed,
    TaskBroken,
    UsageError,
)
from nses.execution.looking import look
from nses.experiment.interruption import Interruption
from nses.experiment.runs import checkpoint
from nses.experiment.runs.document import (
    CONFIG,
    current_versions,
    directory_of,
    note_resumption,
    spaces_of,
    write_config,
)
from nses.experiment.runs.endings import ARCHIVE, BEST, has_ended, mend_archive, write_ending
from nses.experiment.runs.history import HISTORY, line_of
from nses.experiment.runs.log import (
    METRICS,
    TENSORBOARD,
    GenerationLog,
    TensorBoard,
    record_of,
    refuse_unreadable,
)
from nses.experiment.runs.place import absolute, same_place
from nses.experiment.runs.run import Run, load, save_reference
from nses.experiment.runs.storage import (
    DirectoryLock,
    contained,
)
from nses.experiment.settings.build import reference_of, search_of, task_of
from nses.experiment.settings.config import Config, changed, differences, from_dict, to_dict
from nses.experiment.settings.memory import check_memory, warn_of_memory
from nses.experiment.settings.recipes import recipe as recipe_of
from nses.rollouts.episode import Interrupted
from nses.rollouts.policies import Policy
from nses.rollouts.policy_conformance import check_policy
from nses.rollouts.reference import Reference
from nses.rollouts.sources import source_of
from nses.rollouts.tasks.gymnasium import is_ours
from nses.rollouts.tasks.task import Task

log = logging.getLogger("nses")

# Called after each generation with the state and its record; raises StopTraining to stop there.
Listener = Callable[[State, dict[str, Any]], object]

MOST_FAILED = 3
RESULTS = (METRICS, HISTORY, BEST, ARCHIVE)  # that nothing but training gives back


def train(
    task: str | Task,
    *,
    algorithm: str = "nsra-es",
    seed: int = 0,
    recipe: str = "laptop",
    run_dir: str | Path | None = None,
    listener: Listener | None = None,
    policy: Policy | None = None,
    **hyperparameters: Any,
) -> Run:
    """Train on a task by name or on a Task of your own, and return the run.

    `listener(state, record)` is called after each generation, with all that changes and with the
    line of metrics.jsonl; if it raises nses.StopTraining, the run stops there: it is returned as
    it is, with a checkpoint, and `resume` continues it exactly.
    A `policy` of your own takes the place of the network, whose settings then say nothing.
    Every setting of `nses train --help` is a keyword. Where `run_dir` holds the same run already,
    it is continued; where it holds another one, CheckpointRefused says how they differ.
    """
    if not isinstance(task, str | Task):
        raise UsageError(
            "task must be the name of a task, a Gymnasium id, 'module:attribute' or an nses.Task "
            f"(which an environment of your own becomes), got {task!r}."
        )
    name = task if isinstance(task, str) else task.name
    base = recipe_of(name, recipe, algorithm)
    given = {"seed": seed, "algorithm": algorithm} | hyperparameters
    if run_dir is not None:
        given["run_dir"] = str(run_dir)
    config = changed(base, given)
    return pursue(config, None if isinstance(task, str) else task, listener, policy)


def resume(
    run_dir: str | Path,
    task: Task | None = None,
    listener: Listener | None = None,
    policy: Policy | None = None,
    **settings: Any,
) -> Run:
    """Continue a run exactly where its newest checkpoint stands; `generations` extends it.

    A Task or a Policy object that it was trained with has to be brought along.
    """
    run = load(run_dir, policy)
    run.task(task)
    policy = run.user_policy
    config = changed(run.config, {k: v for k, v in settings.items() if v is not None})
    return pursue(config, task, listener, policy)


def pursue(
    config: Config,
    own: Task | None = None,
    listener: Listener | None = None,
    policy: Policy | None = None,
) -> Run:
    """Bring a run to its last generation: begin it, or go on from its newest checkpoint.

    The task is the one that the configuration names, or a user's own; so is the policy.
    """
    given = directory_of(config)
    config = replace(config, run_dir=str(given))
    with same_place():
        _pursue(config, absolute(given), own, policy, listener or _nobody)
    return load(given, policy)


def _pursue(
    config: Config, directory: Path, own: Task | None, policy: Policy | None, listener: Listener
) -> None:
    """In an absolute directory, wherever environments go; users see the path that they gave."""
    task = task_of(config, own)
    config = replace(config, distance=task.distance)
    task = _looked_at(task, config)  # one that does not work is found before anything is written
    if policy is not None:
        check_policy(policy, task)
        sources = task.facts.sources | source_of(policy)
        task = task.knowing(replace(task.facts, sources=sources))
    check_memory(config, task, policy)
    with ExitStack() as stack:
        stack.enter_context(_opened(directory))
        new = not os.path.lexists(directory / CONFIG)
        state = _begin_or_continue(directory, config, task, own is not None, policy)
        if state is not None and _is_complete(directory, config, state):
            return
        warn_of_memory(config, task)
        reference = None
        if policy is None:
            reference = _reference(directory, config, task, state is not None)
        stop = stack.enter_context(Interruption())
        search = stack.enter_context(search_of(config, task, stop, reference, policy))
        try:
            if state is None or state.generation < config.generations:
                state = _generations(search, state, config, directory, stop, listener)
            if state.generation < config.generations:  # as the listener wished
                return
            tested = search.retest(state.best, config.retest_episodes)
            write_ending(directory, state, tested)
        except Interrupted:
            assert stop.signum is not None
            stopped = Stopped(stop.signum)
            stopped.add_note(f"to continue: {resume_command(config.run_dir or directory)}")
            raise stopped from None
        except TaskBroken:  # there is nothing to continue
            if new and not checkpoint.stored(directory / checkpoint.DIRECTORY):
                (directory / CONFIG).unlink(missing_ok=True)
            raise
        except Exception as error:
            error.add_note(f"to continue: {resume_command(config.run_dir or directory)}")
            raise


def _looked_at(task: Task, config: Config) -> Task:
    """The task with what a first look found; TaskBroken if it does not work."""
    if is_ours(task):
        return task
    found = look(task, config.deadline)
    if found.difference:
        log.warning(
            "episodes of %s depend on what was played before: results will depend on the number "
            "of workers and on interruptions. %s 'nses check' looks again.",
            task.name, found.difference,
        )  # fmt: skip
    return task.knowing(found.facts)


def _told(listener: Listener, state: State, record: dict[str, Any]) -> bool:
    """Whether the listener has heard enough."""
    try:
        listener(state, record)
    except StopTraining:
        return True
    return False


def _nobody(state: State, record: dict[str, Any]) -> None:
    """The listener of those who do not listen."""


def _opened(directory: Path) -> DirectoryLock:
    """The run directory, made and locked; StorageFailed before anything is evaluated."""
    for name in (checkpoint.DIRECTORY, TENSORBOARD):
        contained(directory, name)  # no link may lead out of it
    try:
        (directory / checkpoint.DIRECTORY).mkdir(parents=True, exist_ok=True)
        return DirectoryLock(directory)
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise UsageError(f"run_dir has a part that is too long for a name: {error}") from error
        raise StorageFailed(f"cannot write to the run directory {directory}: {error}") from error


def _begin_or_continue(
    directory: Path, config: Config, task: Task, own: bool, policy: Policy | None
) -> State | None:
    """The state to go on from, None for a new run; CheckpointRefused where it is another run."""
    if not checkpoint.stored(directory / checkpoint.DIRECTORY):
        _begin(directory, config, task, own, policy)
        return None
    run = load(directory)
    _refuse_another(directory, _differences(config, task, policy, run))
    loaded = checkpoint.load(directory / checkpoint.DIRECTORY)
    for note in loaded.notes:
        log.warning("%s", note)
    try:
        stored = from_dict(loaded.config)
    except ValueError as error:
        raise CheckpointRefused(
            f"{loaded.path} has a configuration that is none: {error}"
        ) from error
    _refuse_another(directory, differences(config, stored))
    if policy is not None and policy.size != (there := loaded.state.best.theta.size):
        _refuse_another(directory, [f"parameters: {policy.size:,} here, {there:,} there"])
    done = loaded.state.generation
    if done > config.generations:
        raise UsageError(
            f"{directory} already has {done} generations, more than the {config.generations} that "
            "were asked for; give another --run-dir (run_dir=...) for a shorter run."
        )
    now = current_versions()
    for name, version in run.versions.items():
        if now.get(name) != version:
            log.warning(
                "the run was begun with %s %s, this is %s: the bits may differ.",
                name, version, now.get(name, "missing"),
            )  # fmt: skip
    for name, source in run.facts.sources.items():
        if task.facts.sources.get(name) != source:
            log.warning(
                "the code of the %s is not that with which the run was begun: the bits may differ.",
                name,
            )
    _refuse_unreadable(run)
    if run.config != config or run.versions != now:
        note_resumption(directory, config, loaded.state.generation)
    return loaded.state


def _begin(directory: Path, config: Config, task: Task, own: bool, policy: Policy | None) -> None:
    """The settings of a new run, where nothing is lost by it.

    A run that was killed before its first checkpoint left its settings, which may be given again.
    """
    left = [name for name in RESULTS if _holds_something(directory / name)]
    if left:
        raise CheckpointRefused(
            f"{directory} holds {', '.join(left)} of a run, and no checkpoint to go on from. "
            f"Restore its {checkpoint.DIRECTORY} from a copy, or give another --run-dir "
            "(run_dir=...)."
        )
    if os.path.lexists(directory / CONFIG):
        _refuse_another(directory, _differences(config, task, policy, load(directory)))
    write_config(directory, config, task.facts, own, _name_of(policy))


def _holds_something(file: Path) -> bool:
    return os.path.lexists(file) and not (file.is_file() and file.stat().st_size == 0)


def _is_complete(directory: Path, config: Config, state: State) -> bool:
    """Whether there is nothing to play; an archive that is missing is put back."""
    if state.generation < config.generations or not has_ended(directory, state):
        return False
    mend_archive(directory, state)
    return True


def _reference(directory: Path, config: Config, task: Task, begun: bool) -> Reference | None:
    """The reference batch that is stored with the run, where it has one."""
    stored = load(directory).reference if begun else None
    if stored is not None:
        return stored
    reference = reference_of(config, task)
    if reference is not None:
        save_reference(directory, reference)
    return reference


def _differences(config: Config, task: Task, policy: Policy | None, run: Run) -> list[str]:
    """Settings, policy, and what the environment shows or takes, where they make another run."""
    lines = differences(config, run.config)
    if (policy is None) != (not run.own_policy):
        ours, theirs = _name_of(policy) or "built in", run.own_policy or "built in"
        lines.append(f"policy: {ours} here, {theirs} there")
    here, there = spaces_of(task.facts), spaces_of(run.facts)
    return lines + [
        f"{name} space: {here[name]} here, {there[name]} there"
        for name in here
        if here[name] != there[name]
    ]


def _name_of(policy: Policy | None) -> str:
    kind = type(policy)
    return "" if policy is None else f"{kind.__module__}.{kind.__qualname__}"


def _refuse_unreadable(run: Run) -> None:
    """What training goes on from has to be readable before anything is changed."""
    for name in (METRICS, HISTORY):
        refuse_unreadable(run.path / name)
    run.reference  # noqa: B018


def _refuse_another(directory: Path, lines: list[str]) -> None:
    if lines:
        raise CheckpointRefused(
            f"{directory} holds a run with other settings:\n  " + "\n  ".join(lines) + "\n"
            "Give another --run-dir (run_dir=...), or the same settings."
        )


class Checkpoints:
    """Writes a checkpoint when it is time; a failure is retried at the next generation."""

    def __init__(self, directory: Path, config: Config):
        self.directory, self.config = directory / checkpoint.DIRECTORY, config
        self.failures = 0
        self.written = time.monotonic()
        self.generation = -1

    def due(self, state: State) -> bool:
        late = time.monotonic() - self.written >= self.config.checkpoint_seconds
        kept = state.generation % self.config.keep_every == 0
        return late or kept or self.failures > 0

    def write(self, state: State) -> None:
        if state.generation == self.generation:
            return
        try:
            checkpoint.save(
                self.directory, state, to_dict(self.config), keep_every=self.config.keep_every
            )
        except OSError as error:
            self.failures += 1
            if self.failures >= MOST_FAILED:
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
) -> State:
    """The state after all generations, or as many as the listener wishes, which is on disk."""
    saved = Checkpoints(directory, config)
    if state is None:
        state = search.init()
        saved.insist(state)
    saved.generation = state.generation
    with ExitStack() as stack:
        metrics = stack.enter_context(GenerationLog(directory / METRICS, state.generation))
        history = stack.enter_context(GenerationLog(directory / HISTORY, state.generation))
        events = TensorBoard(directory, state.generation) if config.tensorboard else None
        if events:
            stack.callback(events.close)

        def keep(state: State) -> None:
            """A checkpoint, never newer than its logs."""
            metrics.sync()
            history.sync()
            saved.insist(state)

        seconds, before, steps = metrics.seconds, time.monotonic(), state.env_steps
        try:
            for after, report in search.run(state, config.generations):
                state = after
                now = time.monotonic()
                seconds, duration, before = seconds + now - before, now - before, now
                record = record_of(report, seconds, duration, state.env_steps - steps)
                steps = state.env_steps
                metrics.write(record)
                history.write(line_of(report))
                if events:
                    events.write(record)
                if saved.due(state):
                    metrics.sync()
                    history.sync()
                    saved.write(state)
                enough = _told(listener, state, record)
                if stop():
                    raise Interrupted
                if enough:
                    break
        except NotFinite as error:
            keep(state)
            raise NotFinite(
                f"{error}; the last good checkpoint is that of generation {state.generation}. "
                "Lower --lr or --sigma, or look at the returns."
            ) from error
        except StorageFailed:
            raise
        except BaseException:  # whatever else it is, no finished generation is lost
            keep(state)
            raise
        keep(state)
    return state


def resume_command(directory: str | Path) -> str:
    return f"nses resume {shlex.quote(str(directory))}"
