"""A run on disk: its settings, its numbers and its policies. Loading one executes nothing."""

import logging
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nses.core.archive import Archive, archive_of
from nses.core.moments import Moments
from nses.core.seeding import is_exact
from nses.core.values import Best, State
from nses.errors import UsageError
from nses.experiment.runs import checkpoint
from nses.experiment.runs.document import CONFIG, NO_HALT, Halt, Resumption, read_document
from nses.experiment.runs.endings import Ending
from nses.experiment.runs.log import METRICS, read_metrics
from nses.experiment.runs.metrics import Metrics
from nses.experiment.runs.replay import parse_past, rebuild
from nses.experiment.runs.snapshot import Snapshot
from nses.experiment.runs.start import Origin, read_start
from nses.experiment.runs.storage import CheckpointRefused
from nses.experiment.settings.build import own_policy_of, policy_of, task_of
from nses.experiment.settings.config import Config
from nses.rollouts.policies import Policy
from nses.rollouts.policies.own import Network
from nses.rollouts.reference import Reference
from nses.rollouts.spaces import output_of
from nses.rollouts.tasks.adapted import flattening
from nses.rollouts.tasks.own import NEEDS_ITS_TASK, Brought, task_again
from nses.rollouts.tasks.task import Facts, Task

log = logging.getLogger("nses")

REFERENCE = "reference.safetensors"
CURVE = "curve.png"
REPORT = "report.html"


@dataclass(frozen=True)
class Run:
    """A run directory; `nses.load(directory)` gives one."""

    path: Path
    config: Config
    facts: Facts
    versions: dict[str, str]  # at the start of the run
    own_task: bool = False  # whether the task was passed as an object, not by name
    command: str = "unknown"  # that started the run
    own_policy: str = ""  # the class of the policy if it was passed as an object, else empty
    brought: Network | None = field(default=None, repr=False, compare=False)  # that object
    resumptions: tuple[Resumption, ...] = ()
    starts: tuple[int, ...] = ()  # seeds of all starts, where evaluations play each of them
    task_from: str = ""  # module:attribute of the Task object, if it can be imported
    halt: Halt = NO_HALT
    held: Task | None = field(default=None, repr=False, compare=False)  # the Task object, if known

    def __repr__(self) -> str:
        c = self.config
        return f"<run of {c.task} with {c.algorithm}, seed {c.seed}, in {self.path}>"

    def policy(self, which: str = "best") -> "TrainedPolicy":
        """A policy as a function of an observation.

        best, final (the member updated last), member:I, or a past one: generation:G is the member
        that generation G updated, generation:G:candidate:I is one of its candidates.
        """
        theta, moments = self.parameters(which)
        name = self.config.policy_class
        if name is not None and self.brought is None:
            raise UsageError(
                f"{self.path} was trained with {name}, which is code, and none is executed unless "
                f"you name it: nses.load({str(self.path)!r}, policy={name!r})."
            )
        return TrainedPolicy(self, which, theta, moments)

    def parameters(self, which: str = "best") -> tuple[NDArray[np.float32], Moments]:
        """theta and observation moments of a policy."""
        if which == "best":
            best = self.best
            return best.theta, best.moments
        if which.startswith("generation"):
            past = rebuild(self, **parse_past(which))
            return past.theta, past.moments
        state = self.state
        members = state.members
        if which == "final":
            member = members[self._updated(state)]
            return member.theta, member.moments
        kind, _, number = which.partition(":")
        if kind != "member" or not number.isdecimal() or int(number) >= len(members):
            raise UsageError(
                f"policy must be best, final, member:0 to member:{len(members) - 1}, generation:G "
                f"or generation:G:candidate:I, got {which!r}."
            )
        return members[int(number)].theta, members[int(number)].moments

    def _updated(self, state: State) -> int:
        """The member updated last; a checkpoint of format 1 does not record it, the metrics do."""
        if state.updated is not None:
            return state.updated
        updated = [r["member"] for r in self.metrics if r["generation"] <= state.generation]
        return updated[-1] if updated else 0

    @property
    def metrics(self) -> Metrics:
        """The lines of metrics.jsonl: a list of records, and a table of columns."""
        return Metrics(read_metrics(self.path / METRICS)[0])

    @property
    def exact(self) -> bool:
        """Whether every score is the mean over all starts that there are."""
        return is_exact(self.config.evaluation_episodes, self.starts)

    def look(self) -> Snapshot:
        """What its files hold now, each read once; the properties below read them again."""
        return Snapshot(self.path, self.config, self._say, self.halt)

    @property
    def state(self) -> State:
        """The newest valid checkpoint; warns about newer ones that were refused."""
        return self.look().state

    @property
    def archive(self) -> Archive:
        """The behaviors seen so far."""
        return self.look().archive

    @property
    def best(self) -> Best:
        """The policy with the highest score so far."""
        return self.look().best

    @property
    def newest(self) -> State | Ending:
        """The newer of the newest valid checkpoint and the ending; warns about refused ones."""
        return self.look().newest

    @property
    def retest(self) -> list[float]:
        """Returns of the best policy in fresh episodes; empty until the run has ended."""
        return self.look().retest

    @property
    def variations(self) -> dict[str, list[float]]:
        """Returns of the best policy in variations of the task, by name, once the run has ended."""
        return self.look().variations

    @property
    def ending(self) -> Ending | None:
        """The last ending of the run; None if it has not ended yet, or its file is damaged."""
        return self.look().ending

    @property
    def finished(self) -> bool:
        """Whether all generations are done, or its settings stopped it, and it is re-tested."""
        return self.look().finished

    @property
    def stopped(self) -> str:
        """Why its settings or a listener stopped it before its last generation, or empty."""
        return self.look().why

    @property
    def digest(self) -> str:
        """SHA-256 of everything that the same seed promises to repeat."""
        return self.look().digest

    @property
    def reference(self) -> Reference | None:
        """The reference batch of virtual batch norm; None for policies that see no pixels."""
        if not (self.path / REFERENCE).exists():
            return None
        (batch,) = checkpoint.load_archive(self.path / REFERENCE).traces
        space = self.facts.observation_space
        kind = np.uint8 if space.dtype == np.uint8 else np.float32
        try:
            return batch.view(kind).reshape(len(batch), *(space.shape or ()))
        except ValueError as error:
            raise CheckpointRefused(f"{self.path / REFERENCE} is of another task.") from error

    @property
    def origin(self) -> Origin | None:
        """The policy that this run began with; None if it began with random ones."""
        return None if self.config.start_from is None else read_start(self.path)

    def _say(self, *sentences: str) -> None:
        """Warn, with each sentence only once."""
        for sentence in sentences:
            if sentence not in self._said:
                self._said.add(sentence)
                log.warning("%s: %s", self.path, sentence)

    @cached_property
    def _said(self) -> set[str]:
        return set()

    def task(self, own: Brought | None = None) -> Task:
        """The task of this run; if it was trained on a Task object, pass that object again."""
        return task_of(self.config, self.own(own))

    def own(self, own: Brought | None = None) -> Task | None:
        """The Task object of this run, given or found where it was defined; None if it has none."""
        own = own or self.held or self.task_from or None
        if own is None and self.own_task:
            raise UsageError(f"{self.path} {NEEDS_ITS_TASK}")
        return None if own is None else task_again(own, self.config.max_steps)

    @property
    def user_policy(self) -> Policy | None:
        """The user's own policy: the object that `load` was given, or found by its name.

        None if the policy is built in.
        """
        if self.own_policy and self.brought is None:
            raise UsageError(
                f"{self.path} was trained with a policy of your own ({self.own_policy}), which has "
                "to be passed again, in Python: nses.load(run_dir, policy=...) to look at the run "
                "or to evaluate it, nses.resume(run_dir, policy=...) to continue it."
            )
        return own_policy_of(self.config, self.facts, self.brought)

    def trusted(self) -> "Run":
        """This run with the network that it names, which is imported when it is used."""
        brought = self.config.policy_class if self.brought is None else self.brought
        return replace(self, brought=brought)

    def refuse_without(self, own: Brought | None = None) -> None:
        """UsageError if this run needs a task or a policy that is neither given nor found."""
        self.task(own)
        self.user_policy  # noqa: B018

    @property
    def family(self) -> Policy:
        """The policy of this run, which turns parameters and observations into actions."""
        own = self.user_policy
        reference = self.reference if own is None else None
        return policy_of(self.config, self.facts, reference, own)


def save_reference(path: Path, reference: Reference) -> None:
    """Store a reference batch in the format of an archive, as one trace of bytes."""
    batch = np.ascontiguousarray(reference).reshape(len(reference), -1).view(np.uint8)
    checkpoint.save_archive(path / REFERENCE, archive_of([batch]))


class TrainedPolicy:
    """A trained policy: `policy(observation)` is the action."""

    def __init__(self, run: Run, which: str, theta: NDArray[np.float32], moments: Moments):
        self.run, self.which, self.theta, self.moments = run, which, theta, moments
        self._flatten = flattening(run.facts.observation_space, run.config.observed)
        self._act = output_of(run.facts.action_space).act
        policy = run.family
        if theta.size != policy.size:
            raise CheckpointRefused(
                f"{run.path} holds a policy of {theta.size:,} parameters, "
                f"but its {CONFIG} describes one of {policy.size:,}."
            )
        self._policy = policy
        self.reset()

    def reset(self) -> None:
        """Start another episode: a policy with state forgets the last one."""
        self._respond = self._policy.bind(self.theta, self.moments)

    def __call__(self, observation: Any) -> Any:
        return self._act(self._respond(self._flatten(observation)))

    def __repr__(self) -> str:
        return f"<{self.which} policy of {self.run.path}: {self.theta.size:,} parameters>"


def load(directory: str | Path, policy: Network | None = None) -> Run:
    """The run in a directory. If it was trained with a policy of your own, pass that to use it.

    `policy` must be the same as in training, or its name, `module:attribute`. Looking at the
    numbers of a run does not need it.
    """
    path = Path(directory)
    said = read_document(path)
    if policy is not None and not said.own_policy and said.config.policy_class is None:
        raise UsageError(f"{path} was trained with a built-in policy; load it without policy=.")
    return Run(
        path,
        replace(said.config, run_dir=str(path)),
        said.facts,
        said.versions,
        said.own_task,
        said.command,
        said.own_policy,
        policy,
        said.resumptions,
        said.starts,
        said.task_from,
        said.halt,
    )
