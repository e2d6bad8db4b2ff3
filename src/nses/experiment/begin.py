"""The run directory at the start of training: begin a new run in it, or continue the one there."""

import errno
import logging
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from nses.core.values import State
from nses.errors import CheckpointRefused, StorageFailed, UsageError
from nses.experiment.runs import checkpoint
from nses.experiment.runs.document import (
    CONFIG,
    note_resumption,
    other_spaces,
    versions_now,
    write_config,
)
from nses.experiment.runs.endings import ARCHIVE, BEST, has_ended, mend_archive
from nses.experiment.runs.events import TENSORBOARD
from nses.experiment.runs.history import HISTORY
from nses.experiment.runs.log import METRICS, read_metrics, refuse_unreadable, seconds_until
from nses.experiment.runs.run import Run, load, save_reference
from nses.experiment.runs.start import check_fit, keep_start, place_of
from nses.experiment.runs.storage import DirectoryLock, contained
from nses.experiment.settings.build import reference_of, with_network
from nses.experiment.settings.config import Config, differences, from_dict
from nses.experiment.settings.pixels import refuse_pixels
from nses.experiment.settings.stopping import stop_of
from nses.experiment.settings.values import arguments_of, stored_form
from nses.rollouts.policies import Policy
from nses.rollouts.policies.pytorch import TorchPolicy
from nses.rollouts.reference import Reference
from nses.rollouts.tasks.own import Brought, brought_task
from nses.rollouts.tasks.task import Task

log = logging.getLogger("nses")

RESULTS = (METRICS, HISTORY, BEST, ARCHIVE)  # files that only training can produce again


def opened(directory: Path) -> DirectoryLock:
    """Make and lock the run directory; if that fails, StorageFailed before anything is played."""
    for name in (checkpoint.DIRECTORY, TENSORBOARD):
        contained(directory, name)  # no link may lead out of it
    try:
        (directory / checkpoint.DIRECTORY).mkdir(parents=True, exist_ok=True)
        return DirectoryLock(directory)
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise UsageError(f"run_dir has a name that is too long: {error}") from error
        raise StorageFailed(f"cannot write to the run directory {directory}: {error}") from error


def brought(task: Brought, given: dict[str, Any]) -> tuple[str, Task | None]:
    """The name of a task, and a Task if that cannot be found by name; sees to the settings."""
    seen = given.get("behavior")
    if isinstance(task, str | Task) and (seen is None or isinstance(seen, str)):
        return (task, None) if isinstance(task, str) else (task.name, task)
    environment = stored_form("environment", given.get("environment") or ())
    arguments = arguments_of(environment)
    name, given["behavior"], own = brought_task(task, seen, given.get("max_steps"), arguments)
    if own is not None and own is not task:
        given.pop("environment", None)  # it has them
    return name, own


def settled(directory: Path, config: Config, task: Task, chosen: bool, own: bool) -> Config:
    """What the settings leave open, as the run in the directory has it or as a new one begins.

    `chosen` tells that the task brings its behavior, `own` that the policy is a user's.
    """
    if os.path.lexists(directory / CONFIG):
        seen = config.network == "auto" and load(directory).config.network == "conv"
        return replace(config, network="conv") if seen else config
    if not chosen:
        refuse_pixels(config, task)
    return config if own else with_network(config, task.facts)


def begin_or_continue(
    directory: Path, config: Config, task: Task, own: bool | str, policy: Policy | None
) -> State | None:
    """The state to continue from, None for a new run; CheckpointRefused if the run is another."""
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
        raise CheckpointRefused(f"{loaded.path} has an invalid configuration: {error}") from error
    _refuse_another(directory, differences(config, stored))
    if policy is not None and policy.size != (there := loaded.state.best.theta.size):
        _refuse_another(directory, [f"parameters: {policy.size:,} given, {there:,} stored"])
    done = loaded.state.generation
    if done > config.generations:
        raise UsageError(
            f"{directory} already has {done} generations, more than the {config.generations} "
            "asked for; give another --run-dir (run_dir=...) for a shorter run."
        )
    now = versions_now()
    for name, version in run.versions.items():
        if now.get(name) != version:
            log.warning(
                "the run began with %s %s, this is %s: the bits may differ.",
                name, version, now.get(name, "missing"),
            )  # fmt: skip
    for name, source in run.facts.sources.items():
        if task.facts.sources.get(name) != source:
            log.warning(
                "the code of the %s has changed since the run began: the bits may differ.",
                name,
            )
    _refuse_unreadable(run)
    if run.config != config or run.versions != now:
        note_resumption(directory, config, loaded.state.generation)
    return loaded.state


def _begin(
    directory: Path, config: Config, task: Task, own: bool | str, policy: Policy | None
) -> None:
    """Write the settings of a new run, unless that would overwrite the results of another.

    A run that was killed before its first checkpoint left only its settings: the same ones may be
    given again.
    """
    left = [name for name in RESULTS if _holds_something(directory / name)]
    if left:
        raise CheckpointRefused(
            f"{directory} holds {', '.join(left)} of a run but no checkpoint to continue from. "
            f"Restore its {checkpoint.DIRECTORY} from a backup, or give another --run-dir "
            "(run_dir=...)."
        )
    if os.path.lexists(directory / CONFIG):
        _refuse_another(directory, _differences(config, task, policy, load(directory)))
    if config.start_from is not None:
        _start_from(config.start_from, directory, config, task, policy)
    write_config(directory, config, task.facts, own, _object_name(config, policy), task.starts)


def _start_from(
    text: str, directory: Path, config: Config, task: Task, policy: Policy | None
) -> None:
    """Keep the policy to begin with, and the reference batch that it has learned with."""
    there, which = place_of(text)
    source = load(there)
    check_fit(source, config, task.facts, _object_name(config, policy))
    if source.own_policy:
        source = load(there, policy)
    if source.reference is not None:
        save_reference(directory, source.reference)
    keep_start(directory, source, which)


def _holds_something(file: Path) -> bool:
    return os.path.lexists(file) and not (file.is_file() and file.stat().st_size == 0)


def is_complete(directory: Path, config: Config, state: State) -> bool:
    """Whether nothing is left to do; writes the archive again if it is missing."""
    if not is_over(directory, config, state) or not has_ended(directory, state):
        return False
    mend_archive(directory, state)
    return True


def is_over(directory: Path, config: Config, state: State) -> bool:
    """Whether this was the last generation, or the settings stop the run here."""
    if state.generation >= config.generations:
        return True
    seconds = seconds_until(read_metrics(directory / METRICS)[0], state.generation)
    return stop_of(config, state.generation, state.best, seconds) is not None


def reference_for(directory: Path, config: Config, task: Task, begun: bool) -> Reference | None:
    """The reference batch of a run, from disk or from random play; None if it needs none."""
    kept = begun or config.start_from is not None
    stored = load(directory).reference if kept else None
    if stored is not None:
        return stored
    reference = reference_of(config, task)
    if reference is not None:
        save_reference(directory, reference)
    return reference


def _differences(config: Config, task: Task, policy: Policy | None, run: Run) -> list[str]:
    """Differences in settings, policy and spaces that make it another run, a line each."""
    lines = differences(config, run.config)
    ours, theirs = _object_name(config, policy), run.own_policy
    if (not ours) != (not theirs):
        lines.append(f"policy: {ours or 'built-in'} given, {theirs or 'built-in'} stored")
    return [*lines, *other_spaces(task.facts, "now", run.facts, "stored")]


def _object_name(config: Config, policy: Policy | None) -> str:
    """The class of a policy that was passed as an object; empty if the configuration names it."""
    kind = type(policy.module if isinstance(policy, TorchPolicy) else policy)
    passed = policy is not None and config.policy_class is None
    return f"{kind.__module__}.{kind.__qualname__}" if passed else ""


def _refuse_unreadable(run: Run) -> None:
    """The files that training continues must be readable before anything is changed."""
    for name in (METRICS, HISTORY):
        refuse_unreadable(run.path / name)
    run.reference  # noqa: B018
    run.origin  # noqa: B018


def _refuse_another(directory: Path, lines: list[str]) -> None:
    if lines:
        raise CheckpointRefused(
            f"{directory} holds a run with other settings:\n  " + "\n  ".join(lines) + "\n"
            "Give another --run-dir (run_dir=...), or the same settings."
        )
