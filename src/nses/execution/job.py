"""A job is a value, its result is rows, and one function turns one into the other.

Both can be sent: a job refers to its noise by offsets into a table that every player has.
"""

import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nses.core import moments
from nses.core.archive import Archive, empty
from nses.core.moments import Moments
from nses.core.noise import Table, perturb, row_of
from nses.core.traces import Trace
from nses.core.values import Candidates, Floats, Vector
from nses.execution.runner import Plan, Runner
from nses.execution.shared import Field, zeros
from nses.rollouts.episode import Episode
from nses.rollouts.policies import check_theta

OPEN, DONE, FAILED = 0, 1, 2  # states of a candidate
NONE_KEPT: Mapping[int, Episode] = {}

Memory = dict[str, NDArray[Any]]
FirstTrace = tuple[int, Trace]  # with the index of its candidate


@dataclass(frozen=True, eq=False)
class Job:
    """Candidates to play: theta + sigma * epsilon_i, or theta itself if offsets is None."""

    theta: Vector
    moments: Moments
    seeds: NDArray[np.int64]  # (n,) of each episode
    sigma: float
    offsets: NDArray[np.int64] | None  # (n / 2,) into the table of noise
    contributes: NDArray[np.bool_]  # (n,) which episodes report their observations
    archive: Archive
    whole: int  # how many candidates were asked for, of which these may be a part
    enough: int | None = None  # steps: only the first pairs that reach this many together count
    at_home: bool = False  # whether they play in the task itself, although they are perturbed
    variation: int = 0  # of the task, in which only returns are asked for; 0: the task itself

    def __len__(self) -> int:
        return len(self.seeds)

    @property
    def perturbed(self) -> bool:
        return self.offsets is not None

    def part(self, indices: range) -> "Job":
        """Some of the candidates, from an even index to an even one."""
        rows, pairs = _slice(indices), slice(indices.start // 2, indices.stop // 2)
        return replace(
            self,
            seeds=self.seeds[rows],
            offsets=None if self.offsets is None else self.offsets[pairs],
            contributes=self.contributes[rows],
        )

    def policy(self, i: int, noise: Table | None, out: Vector) -> Vector:
        """The parameters of candidate i, written to `out` if they are perturbed."""
        if self.offsets is None:
            return self.theta
        assert noise is not None
        perturb(
            self.theta,
            -self.sigma if i % 2 else self.sigma,
            row_of(noise, self.offsets[i // 2], self.theta.size),
            out,
        )
        return out


def job_of(candidates: Candidates, archive: Archive) -> Job:
    epsilon, contributes, n = candidates.epsilon, candidates.contributes, len(candidates)
    return Job(
        theta=candidates.theta,
        moments=candidates.moments,
        seeds=candidates.seeds,
        sigma=candidates.sigma,
        offsets=None if epsilon is None else epsilon.offsets,
        contributes=np.zeros(n, np.bool_) if contributes is None else contributes,
        archive=archive,
        whole=candidates.before + n,
        enough=candidates.enough,
        at_home=candidates.at_home,
        variation=candidates.variation,
    )


NOBODY = Candidates(np.empty(0, np.float32), moments.nothing(0), np.empty(0, np.int64))
NOTHING = job_of(NOBODY, empty(0))


@dataclass(frozen=True, eq=False)
class News:
    """Entries of an archive, and how many there were before them."""

    start: int
    entries: NDArray[Any] | Sequence[Trace]

    def added_to(self, archive: Archive) -> Archive:
        return (archive if self.start else empty(0)).append(self.entries)


def news(archive: Archive, known: Archive | None) -> Iterator[News]:
    """What is missing from `known`, an older or another archive or none, to make this one."""
    start = 0
    if known is not None and archive.extends(known):
        start = len(known)
        if start == len(archive):
            return
    # All vectors at once, but traces one by one: together they may be very large.
    for i, entries in enumerate(archive.traces[start:] or [archive.rows[start:]]):
        yield News(start + i, entries)


@dataclass(frozen=True, eq=False)
class Rows:
    """The results of the candidates of a job, or of some of them: a row each, in their order."""

    f: Floats  # NaN where it failed
    N: Floats
    lengths: NDArray[np.int64]
    status: NDArray[np.uint8]
    blown_up: NDArray[np.uint8]
    b: Floats  # (n, 0) if behaviors are traces, which differ in length
    observed: Floats  # a row of moments each, of those that contribute
    first: FirstTrace | None = None  # of an unperturbed candidate with a finite return
    errors: tuple[str, ...] = ()  # tracebacks of those that raised

    def views(self, indices: range) -> "Rows":
        """Views of some rows."""
        place = _slice(indices)
        return rows_in({name: getattr(self, name)[place] for name in COLUMNS})

    def write(self, indices: range, rows: "Rows") -> None:
        """Write rows to their places; status comes last, since it says that the rest is there."""
        place = _slice(indices)
        told = rows.observed[:, 0] > 0  # these rows are large and most are empty: copy only the few
        self.observed[place][told] = rows.observed[told]
        for name in ("f", "N", "lengths", "blown_up", "b", "status"):
            getattr(self, name)[place] = getattr(rows, name)

    def put(self, row: int, episode: Episode) -> None:
        """Write an episode, except its behavior and novelty."""
        self.f[row], self.lengths[row] = episode.f, episode.length
        self.blown_up[row] = episode.blown_up
        if episode.observed is not None:
            self.observed[row] = episode.observed.row

    def fail(self, row: int) -> None:
        self.f[row], self.N[row], self.lengths[row] = np.nan, 0.0, 0
        self.b[row], self.blown_up[row], self.status[row] = np.nan, False, FAILED


def earlier(a: FirstTrace | None, b: FirstTrace | None) -> FirstTrace | None:
    """The trace with the lower index, whichever came first."""
    known = [x for x in (a, b) if x is not None]
    return min(known, key=lambda x: x[0], default=None)


def memory_fields(d: int, n: int, moments_size: int, behavior_size: int) -> list[Field]:
    """The arrays that hold a job without its archive, and its rows."""
    return [
        ("theta", "f4", (d,)),
        ("moments", "f8", (moments.row_size(moments_size),)),
        ("seeds", "i8", (n,)),
        ("offsets", "i8", (n,)),
        ("contributes", "u1", (n,)),
        ("sigma", "f8", (1,)),
        ("counts", "i8", (5,)),  # candidates, whether perturbed, whole, at home, variation
        *_row_fields(n, moments_size, behavior_size),
    ]


def _row_fields(n: int, moments_size: int, behavior_size: int) -> list[Field]:
    return [
        ("f", "f8", (n,)),
        ("N", "f8", (n,)),
        ("lengths", "i8", (n,)),
        ("status", "u1", (n,)),
        ("blown_up", "u1", (n,)),
        ("b", "f8", (n, behavior_size)),
        ("observed", "f8", (n, moments.row_size(moments_size))),
    ]


COLUMNS = [name for name, _, _ in _row_fields(0, 0, 0)]


def empty_rows(n: int, plan: Plan) -> Rows:
    fields = _row_fields(n, plan.moments_size, plan.behavior_size)
    return rows_in({name: zeros(dtype, shape) for name, dtype, shape in fields})


def rows_in(memory: Memory) -> Rows:
    """The rows held in memory, as views."""
    columns: dict[str, Any] = {name: memory[name] for name in COLUMNS}
    return Rows(**columns)


def publish(job: Job, memory: Memory) -> None:
    n = len(job)
    memory["theta"][:] = job.theta
    memory["moments"][:] = job.moments.row
    memory["seeds"][:n] = job.seeds
    memory["contributes"][:n] = job.contributes
    memory["sigma"][0] = job.sigma
    memory["counts"][:] = n, job.perturbed, job.whole, job.at_home, job.variation
    if job.offsets is not None:
        memory["offsets"][: n // 2] = job.offsets


def published(memory: Memory, archive: Archive) -> Job:
    """The job that was published, its large arrays as views."""
    n, perturbed, whole, at_home, variation = memory["counts"].tolist()
    return Job(
        theta=memory["theta"],
        moments=moments.of_row(memory["moments"].copy()),
        seeds=memory["seeds"][:n],
        sigma=float(memory["sigma"][0]),
        offsets=memory["offsets"][: n // 2] if perturbed else None,
        contributes=memory["contributes"][:n].astype(np.bool_),
        archive=archive,
        whole=whole,
        at_home=bool(at_home),
        variation=variation,
    )


def ignore(index: int) -> None:
    """The default listener: ignores everything."""


def play(
    runner: Runner,
    job: Job,
    noise: Table | None,
    indices: range,
    starting: Callable[[int], None] = ignore,
    into: Rows | None = None,
    kept: Mapping[int, Episode] = NONE_KEPT,
) -> Rows:
    """The rows of these candidates; `starting` is told each index before its episode.

    They are written to their places in `into`, if given; status comes last. `kept` ones are there.
    """
    plan, A, traces = runner.plan, job.archive, runner.plan.traces
    check_theta(job.theta, plan.policy.size)
    rows = empty_rows(len(indices), plan) if into is None else into.views(indices)
    rows.N[:] = 0.0
    first, errors = None, []
    for row, i in enumerate(indices):
        starting(i)
        try:
            episode = kept.get(i) or episode_of(runner, job, noise, i)
            rows.put(row, episode)
            if job.variation:
                rows.b[row] = 0.0
            elif not traces:
                rows.b[row] = episode.behavior
            elif np.isfinite(episode.f):  # traces are large: measure each now, keep hardly any
                if job.perturbed:
                    rows.N[row] = runner.novelty(episode.behavior, A)
                elif first is None:
                    first = i, np.array(episode.behavior, np.uint8)
        except MemoryError:
            raise
        except Exception:
            errors.append(traceback.format_exc())
            rows.fail(row)
    known = np.isfinite(rows.f) & (not plan.finite_behaviors or np.isfinite(rows.b).all(axis=1))
    rows.f[~known], rows.N[~known] = np.nan, 0.0
    if job.perturbed and not traces:  # unperturbed ones are asked only for f and b
        rows.N[known] = runner.novelty(rows.b[known], A)
    rows.status[:] = np.where(known, DONE, FAILED)
    return replace(rows, first=first, errors=tuple(errors)) if first or errors else rows


def episode_of(runner: Runner, job: Job, noise: Table | None, i: int) -> Episode:
    return runner.play(
        job.policy(i, noise, runner.theta),
        job.moments,
        int(job.seeds[i]),
        action_noise=runner.plan.action_noise if job.perturbed else 0.0,
        contributes=runner.plan.moments_size > 0 and bool(job.contributes[i]),
        training=job.perturbed and not job.at_home,
        variation=job.variation,
    )


def _slice(indices: range) -> slice:
    return slice(indices.start, indices.stop)
