"""Training: from a configuration to a run on disk, whatever happens in between."""

import logging
import os
import shlex
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

from nses.core.algorithms import Search
from nses.core.values import State
from nses.errors import NotFinite, Stopped, StopTraining, StorageFailed, TaskBroken, UsageError
from nses.execution.sharing import Sharers, alone
from nses.experiment.begin import (
    begin_or_continue,
    brought,
    is_complete,
    is_over,
    opened,
    reference_for,
    settled,
)
from nses.experiment.first_look import checked, looked_at
from nses.experiment.interruption import Interruption
from nses.experiment.runs import checkpoint
from nses.experiment.runs.document import CONFIG, directory_of, note_halt
from nses.experiment.runs.endings import write_ending
from nses.experiment.runs.journal import Journal
from nses.experiment.runs.place import absolute, same_place
from nses.experiment.runs.saving import Checkpoints
from nses.experiment.settings.build import own_policy_of, search_of, task_tried
from nses.experiment.settings.config import Config, changed
from nses.experiment.settings.keywords import AlgorithmName, Keywords, RecipeName
from nses.experiment.settings.memory import check_memory, warn_of_memory
from nses.experiment.settings.recipes import recipe as recipe_of
from nses.experiment.settings.stopping import stop_of
from nses.experiment.showing.progress import watched
from nses.experiment.variations import returns_in_variations
from nses.experiment.verbs import Run, load
from nses.rollouts.episode import Interrupted
from nses.rollouts.policies import Policy
from nses.rollouts.policies.own import Network, name_of
from nses.rollouts.reference import Reference
from nses.rollouts.tasks.own import Brought, origin_of, was_chosen
from nses.rollouts.tasks.task import Task

log = logging.getLogger("nses")

# Called after each generation with the state and its record; may raise StopTraining.
Listener = Callable[[State, dict[str, Any]], object]


def train(
    task: Brought,
    *,
    algorithm: AlgorithmName = "nsra-es",
    seed: int = 0,
    recipe: RecipeName = "laptop",
    run_dir: str | Path | None = None,
    listener: Listener | None = None,
    policy: Network | None = None,
    progress: bool = False,
    **settings: Unpack[Keywords],
) -> Run:
    """Train on a task by name, or on a Task or environment of your own, and return the run.

    An environment may be given as a class or function that makes one, a `behavior` as a function of
    (observation, info). What can be imported is recorded by name, and found again by all commands.
    `listener(state, record)` is called after each generation, with the state of the search and the
    line of metrics.jsonl. If it raises nses.StopTraining, the run stops there with a checkpoint and
    is returned; `resume` continues it exactly. `progress` shows a bar, in a notebook as well.
    Ctrl-C raises nses.errors.Stopped, a KeyboardInterrupt, when all that was finished is on disk.
    A `policy` of your own replaces the network, whose settings are then ignored: an object, or a
    class or function that makes one from (observation_size, outputs), or its name. A run records
    the name of a class that can be imported, as `policy_class`, and finds it again.
    Every setting of `nses train --help` is a keyword. If `run_dir` already holds the same run,
    it is continued; if it holds another one, CheckpointRefused says how they differ.
    """
    given: dict[str, Any] = {"seed": seed, "algorithm": algorithm, **settings}
    name, own = brought(task, given)
    base = recipe_of(name, recipe, algorithm)
    if run_dir is not None:
        given["run_dir"] = str(run_dir)
    config = changed(base, given)
    if policy is not None and config.policy_class is not None:
        raise UsageError("give either policy or policy_class, not both.")
    if named := name_of(policy):
        config, policy = replace(config, policy_class=named), None
    with watched(config, listener, progress) as both:
        return pursue(config, own, both, policy)


def resume(
    run_dir: str | Path,
    task: Brought | None = None,
    listener: Listener | None = None,
    policy: Network | None = None,
    progress: bool = False,
    **settings: Unpack[Keywords],
) -> Run:
    """Continue a run exactly from its newest checkpoint; `generations` extends it.

    If it was trained with a Task or Policy object of your own, pass that again.
    """
    run = load(run_dir, policy)
    run.refuse_without(task)
    own = run.own(task)
    config = changed(run.config, {k: v for k, v in settings.items() if v is not None})
    with watched(config, listener, progress) as both:
        return pursue(config, own, both, policy)


def pursue(
    config: Config,
    own: Task | None = None,
    listener: Listener | None = None,
    policy: Network | None = None,
    sharers: Sharers = alone,
) -> Run:
    """Bring a run to its last generation: begin it, or continue from its newest checkpoint.

    The task and the policy are those that the configuration names, or a user's own. `sharers`
    counts the runs that share the CPUs.
    """
    given = directory_of(config)
    config = replace(config, run_dir=str(given))
    with same_place():
        _pursue(config, absolute(given), own, policy, listener or _ignore, sharers)
    run = load(given, config.policy_class if policy is None else policy)
    return replace(run, held=own)


def _pursue(
    config: Config,
    directory: Path,
    own: Task | None,
    brought: Network | None,
    listener: Listener,
    sharers: Sharers,
) -> None:
    """`directory` is absolute: environments may change the working one. Users see run_dir."""
    task = task_tried(config, own)
    config = replace(config, distance=task.distance)
    task = looked_at(task, config)
    policy = own_policy_of(config, task.facts, brought)
    task = task if policy is None else checked(policy, task)
    config = settled(directory, config, task, was_chosen(own), policy is not None)
    check_memory(config, task, policy)
    with ExitStack() as stack:
        stack.enter_context(opened(directory))
        new = not os.path.lexists(directory / CONFIG)
        state = begin_or_continue(directory, config, task, origin_of(own), policy)
        if state is not None and is_complete(directory, config, state):
            return
        warn_of_memory(config, task)
        known = state is not None
        reference = None if policy is not None else reference_for(directory, config, task, known)
        stop = stack.enter_context(Interruption())
        workers = stack.enter_context(ExitStack())
        begun = _begun(directory, config, task, policy, stop, reference, sharers)
        search = workers.enter_context(begun)
        try:
            if state is None or not is_over(directory, config, state):
                state = _generations(search, state, config, directory, stop, listener)
            if not is_over(directory, config, state):  # the listener stopped it
                return
            tested = search.retest(state.best, config.retest_episodes)
            varied = returns_in_variations(config, task, search.evaluate, state.best)
            workers.close()
            write_ending(directory, state, tested.f, varied)
        except Interrupted:
            assert stop.signum is not None
            stopped = Stopped(stop.signum)
            stopped.add_note(f"to continue: {resume_command(config.run_dir or directory)}")
            raise stopped from None
        except TaskBroken:  # leave nothing behind to continue
            if new and not checkpoint.stored(directory / checkpoint.DIRECTORY):
                (directory / CONFIG).unlink(missing_ok=True)
            raise
        except Exception as error:
            error.add_note(f"to continue: {resume_command(config.run_dir or directory)}")
            raise


@contextmanager
def _begun(
    directory: Path,
    config: Config,
    task: Task,
    policy: Policy | None,
    stop: Interruption,
    reference: Reference | None,
    sharers: Sharers,
) -> Iterator[Search]:
    """The search of a run, with the policy and the starts of episodes that it began with."""
    run = load(directory)
    start = run.origin.policy if run.origin else None
    with search_of(config, task, stop, reference, policy, start, sharers) as search:
        yield replace(search, starts=run.starts)


def _stopped_by(listener: Listener, state: State, record: dict[str, Any]) -> str:
    """Call the listener; why it asked to stop, empty if it did not."""
    try:
        listener(state, record)
    except StopTraining as asked:
        return f"a listener stopped it: {asked}" if str(asked) else "a listener stopped it"
    return ""


def _ignore(state: State, record: dict[str, Any]) -> None:
    """The default listener."""


def _generations(
    search: Search,
    state: State | None,
    config: Config,
    directory: Path,
    stop: Interruption,
    listener: Listener,
) -> State:
    """The state, which is on disk, after all generations or when the run is to stop."""
    saved = Checkpoints(directory, config)
    if state is None:
        state = search.init()
        saved.insist(state)
    saved.generation = state.generation
    with Journal(directory, state, config.tensorboard) as journal:

        def keep(state: State) -> None:
            """Write a checkpoint, never newer than its logs."""
            journal.sync()
            saved.insist(state)

        try:
            for after, report in search.run(state, config.generations):
                state = after
                record = journal.write(state, report)
                if saved.due(state):
                    journal.sync()
                    saved.write(state)
                met = stop_of(config, state.generation, state.best, record["seconds"])
                why = _stopped_by(listener, state, record)
                if stop():
                    raise Interrupted
                if why and state.generation < config.generations:
                    note_halt(directory, state.generation, why)
                if why or met is not None:
                    break
        except NotFinite as error:
            keep(state)
            raise NotFinite(
                f"{error}; the last good checkpoint is of generation {state.generation}. "
                "Lower --lr or --sigma, or check the returns."
            ) from error
        except StorageFailed:
            raise
        except BaseException:  # whatever happened, no finished generation is lost
            keep(state)
            raise
        keep(state)
    return state


def resume_command(directory: str | Path) -> str:
    return f"nses resume {shlex.quote(str(directory))}"
