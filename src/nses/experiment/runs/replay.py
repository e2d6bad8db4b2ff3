"""Rebuild any policy of any past generation from the seed and the history; nothing is simulated."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from nses.core import archive
from nses.core.algorithms import Search
from nses.core.archive import Archive, Characterization
from nses.core.moments import Moments
from nses.core.noise import fill_table, table_size
from nses.core.seeding import Purpose, assessment_seeds
from nses.core.traces import is_trace
from nses.core.values import Candidates, Evaluation, Member, State, Vector
from nses.errors import UsageError
from nses.execution import job as jobs
from nses.execution.runner import Runner
from nses.experiment.runs import checkpoint
from nses.experiment.runs.encoding import finite, standard
from nses.experiment.runs.history import HISTORY, Line, read_history
from nses.experiment.runs.storage import CheckpointRefused
from nses.experiment.settings.build import search_with, training_plan_of
from nses.experiment.settings.config import differences, from_dict
from nses.rollouts.tasks.own import Brought

if TYPE_CHECKING:
    from nses.experiment.runs.run import Run


@dataclass(frozen=True, eq=False)
class Replay:
    """A past policy: a member after `generation` generations, or a candidate of that generation."""

    generation: int
    member: int
    candidate: int | None
    theta: Vector
    moments: Moments
    episodes: Candidates  # in which it was played
    logged: float | None  # their return, or the mean; None if the log does not have it


@dataclass(frozen=True, eq=False)
class Replayed:
    """The episodes of a past policy, played again in their original order."""

    returns: np.ndarray
    lengths: np.ndarray
    behavior: Characterization  # of the first episode
    errors: list[str]  # tracebacks of failed episodes

    @property
    def score(self) -> float:
        """The mean of the episodes that did not fail; NaN if all did."""
        known = self.returns[np.isfinite(self.returns)]
        return float(known.mean()) if len(known) else np.nan


def parse_past(which: str) -> dict[str, int]:
    """generation:G, generation:G:member:J or generation:G:candidate:I as arguments of `rebuild`."""
    words = which.split(":")
    names, numbers = words[::2], words[1::2]
    known = (["generation"], ["generation", "member"], ["generation", "candidate"])
    whole = len(names) == len(numbers) and all(number.isdecimal() for number in numbers)
    if names not in known or not whole:
        raise UsageError(
            "a past policy is generation:G, generation:G:member:J or "
            f"generation:G:candidate:I, got {which!r}."
        )
    return dict(zip(names, map(int, numbers), strict=True))


def rebuild(
    run: "Run", generation: int, *, member: int | None = None, candidate: int | None = None
) -> Replay:
    """The policy, bit for bit as it was in training.

    A candidate of generation G is a perturbation of the member that G selected, before its update.
    Without a candidate, the policy is the member that G updated (or `member`), after that update.
    """
    members = run.config.members
    if generation < (0 if candidate is None else 1):
        raise UsageError(
            f"generations are counted from 1 (0: the initial members), got {generation}."
        )
    if member is not None and not 0 <= member < members:
        raise UsageError(f"member must be from 0 to {members - 1}, got {member}.")
    search = _search(run)
    lines = _lines(run, search, generation)
    n = len(lines[generation].f) if generation in lines else run.config.n
    if candidate is not None and not 0 <= candidate < n:
        raise UsageError(f"candidate must be from 0 to {n - 1}, got {candidate}.")
    chosen = lines[generation].member if generation in lines else 0
    if candidate is None:
        m = chosen if member is None else member
        rebuilt = _member(run, search, lines, generation, m)
        since = max((t for t, line in lines.items() if line.member == m), default=0)
        E = run.config.evaluation_episodes
        seeds = assessment_seeds(
            run.config.seed,
            since,  # its last update
            m,
            Purpose.EVALUATION,
            max(E, run.config.behavior_episodes or 0),
            run.starts,
        )[:E]
        episodes = Candidates(rebuilt.theta, rebuilt.moments, seeds)
        score = _score(run, since, m)
        return Replay(generation, m, None, rebuilt.theta, rebuilt.moments, episodes, score)
    if member is not None and member != chosen:
        raise UsageError(
            f"the candidates of generation {generation} are those of member {chosen}, got {member}."
        )
    parent = _member(run, search, lines, generation - 1, chosen)
    episodes = search.perturb(parent, generation - 1, n)
    job = jobs.job_of(episodes, archive.empty(0))
    theta = job.policy(candidate, search.noise, np.empty_like(parent.theta))
    logged = float(lines[generation].f[candidate])
    return Replay(generation, chosen, candidate, theta, parent.moments, episodes, logged)


def play(run: "Run", past: Replay, task: Brought | None = None) -> Replayed:
    """Play the original episodes again: the returns should be those of the log."""
    plan = training_plan_of(run.config, run.task(task), run.family)
    job, epsilon = jobs.job_of(past.episodes, archive.empty(0)), past.episodes.epsilon
    i = past.candidate
    indices = range(len(job)) if i is None else range(i, i + 1)
    runner = Runner(plan)
    try:
        rows = jobs.play(runner, job, None if epsilon is None else epsilon.table, indices)
    finally:
        runner.close()
    first = rows.b[0] if rows.first is None else rows.first[1]
    return Replayed(rows.f, rows.lengths, first, list(rows.errors))


def answer(past: Replay, played: Replayed) -> dict[str, Any]:
    """What was replayed, its return, and whether that is the logged return."""
    name = f"generation:{past.generation}"
    name += f":member:{past.member}" if past.candidate is None else f":candidate:{past.candidate}"
    score, logged = played.score, past.logged
    same = None if logged is None else bool(np.array_equal(score, logged, equal_nan=True))
    b = [] if is_trace(played.behavior) else played.behavior.tolist()
    return {
        "policy": name,
        "member": past.member,
        "return" if past.candidate is not None else "mean return": finite(score),
        "episodes": len(played.returns),
        "steps": played.lengths.tolist(),
        "behavior": standard(b),
        "logged": finite(logged),
        "same bits": same,
        **({"failed": played.errors[0].strip().splitlines()[-1]} if played.errors else {}),
    }


def _search(run: "Run") -> Search:
    """The search of the run, which cannot play episodes."""
    config = run.config
    policy = run.family
    table = np.empty(table_size(policy.size), np.float32)
    fill_table(table, config.seed)
    assert config.distance is not None  # a stored configuration is complete
    return search_with(config, policy, config.distance, table, _nothing_is_played)


def _nothing_is_played(candidates: Candidates, archive: Archive) -> Evaluation:
    raise AssertionError("rebuilding a policy plays no episodes")


def _lines(run: "Run", search: Search, generation: int) -> dict[int, Line]:
    """The history up to a generation."""
    lines = {}
    sizes = (run.config.members, run.config.n, search.moments_size)
    h = search.hyperparameters
    or_more, lengths = h.steps_per_generation > 0, h.shift != 0
    for line in read_history(run.path / HISTORY, *sizes, generation, or_more, lengths):
        lines[line.generation] = line
    if generation and generation not in lines:
        last = max((r["generation"] for r in run.metrics), default=0)
        raise UsageError(
            f"{run.path} has no generation {generation}; its last one is {last}."
            if generation > last
            else f"the history of generation {generation} is missing in {run.path}: the disk was "
            "full then, or an older nses made the run and kept no history."
        )
    return lines


def _check_fit(run: "Run", search: Search, loaded: checkpoint.Loaded) -> None:
    """CheckpointRefused unless a checkpoint and the configuration are of the same run."""
    member = loaded.state.members[0]
    stored = (member.theta.size, member.moments.sum.size)
    if stored != (run.family.size, search.moments_size):
        raise CheckpointRefused(f"the checkpoint in {run.path} is of another policy than its run.")
    lines = differences(run.config, from_dict(loaded.config))
    if lines:
        raise CheckpointRefused(
            f"config.json and checkpoint {loaded.path.name} of {run.path} disagree:\n  "
            + "\n  ".join(line.replace("given", "in config.json") for line in lines)
            + "\nRestore config.json from a copy."
        )


def _start(run: "Run", search: Search, generation: int) -> State | None:
    """The nearest earlier checkpoint, None if none is that old or none is valid."""
    for at_most in (generation, None):  # a later one still tells whether the settings are true
        try:
            loaded = checkpoint.load(run.path / checkpoint.DIRECTORY, at_most)
        except CheckpointRefused:
            continue
        _check_fit(run, search, loaded)
        return loaded.state if loaded.state.generation <= generation else None
    return None


def _newborn(run: "Run", search: Search, m: int) -> Member:
    origin = run.origin
    return replace(search, start=origin.policy if origin else None).newborn(m)


def _member(run: "Run", search: Search, lines: dict[int, Line], generation: int, m: int) -> Member:
    """Member m after `generation` generations, from the nearest earlier checkpoint or its birth."""
    state = _start(run, search, generation)
    if state is None:
        member, since = _newborn(run, search, m), 0
    else:
        member, since = state.members[m], state.generation
    missing = [t for t in range(since + 1, generation + 1) if t not in lines]
    if missing:
        raise CheckpointRefused(
            f"the history of generation {missing[0]} is missing in {run.path}; without it, the "
            f"generations from there to the next checkpoint cannot be rebuilt."
        )
    for t in range(since + 1, generation + 1):
        line = lines[t]
        if line.member == m:
            candidates = search.perturb(member, t - 1, len(line.f))
            member, _ = search.update(member, t - 1, candidates, line.evaluation, line.weight)
    return replace(member, behavior=np.empty(0))  # not the checkpoint's, which is older


def _score(run: "Run", generation: int, member: int) -> float | None:
    for record in run.metrics:
        if (record["generation"], record["member"]) == (generation, member):
            return record["score"]
    return None
