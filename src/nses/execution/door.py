"""Checks that another machine computes the same bits, before it plays anything that counts."""

import hashlib
import zlib
from dataclasses import dataclass, field, replace

import numpy as np

from nses.core import moments
from nses.core.archive import archive_of
from nses.core.noise import Epsilon, Table, fill_table
from nses.core.seeding import Purpose, generator
from nses.errors import TaskBroken, TooManyFailures, UsageError
from nses.execution.job import Job, Rows
from nses.execution.ledger import units_of
from nses.execution.pool import DEADLINE, Pool
from nses.execution.runner import Plan
from nses.execution.versions import Code

CANDIDATES = 4
STEPS = 200  # of an episode, at most
SPREAD = 0.1  # of the perturbations
ROWS = ("f", "N", "lengths", "b", "observed")
NAMED = 3  # files, of those that differ


@dataclass(frozen=True)
class Numerics:
    """What two machines must have in common to get the same bits."""

    versions: dict[str, str] = field(default_factory=dict)
    episodes: str = ""  # a digest
    noise: int = 0  # a checksum of the whole table: its tails depend on the maths library
    code: Code = field(default_factory=dict)  # of everything that plays


def differences(here: Numerics, there: Numerics) -> list[str]:
    """A phrase for each thing that differs."""
    names = [*here.versions, *(there.versions.keys() - here.versions.keys())]
    found = [
        f"{name} is {there.versions.get(name, 'missing')} there and "
        f"{here.versions.get(name, 'missing')} here"
        for name in names
        if here.versions.get(name) != there.versions.get(name)
    ]
    if other := changed_files(here.code, there.code):
        found.append(f"nses has other code there, in {other}")
    if here.episodes != there.episodes:
        found.append("the same episodes end differently there")
    if here.noise != there.noise:
        found.append("the noise table has different numbers there")
    return found


def changed_files(here: Code, there: object) -> str:
    """The names of the files that differ, the first of them at least; empty if none does."""
    theirs = there if isinstance(there, dict) else {}  # an older nses answers something else
    names = sorted(n for n in here.keys() | theirs.keys() if here.get(n) != theirs.get(n))
    more = [f"{len(names) - NAMED} more"] if len(names) > NAMED else []
    return ", ".join([*names[:NAMED], *more])


# Why a node may not play.


def other_code(name: str, files: str) -> UsageError:
    return UsageError(
        f"node {name} is refused, because its nses has other code, in {files}, whatever its "
        "version says, and might misunderstand what it is asked. Install the same code there."
    )


def other_bits(name: str, found: list[str]) -> UsageError:
    return UsageError(
        f"node {name} is refused, because its results would not have the same bits: "
        f"{'; '.join(found)}. Install the same versions on machines of the same type, or accept "
        "the difference with --allow-other-numerics."
    )


def cannot_play(name: str, why: str) -> TaskBroken:
    return TaskBroken(
        f"node {name} cannot play the task: {why.rstrip()}\nInstall what is missing there, in the "
        "environment that 'ray start' runs in."
    )


def left_out(name: str, why: str) -> TooManyFailures:
    return TooManyFailures(
        f"node {name} is left out: {why.rstrip('.')}. Put that right, then 'ray stop' and "
        "'ray start' there let it join again."
    )


def checksum(noise: Table) -> int:
    return zlib.crc32(noise.data)


class Trial:
    """A few short episodes of the task, in a separate process, and a gradient, to compare the bits.

    The episodes start at once; `digest` waits for them to end. On a machine that has never played
    this task they also compile what all of its workers will need.
    """

    def __init__(self, plan: Plan, deadline: float = DEADLINE):
        task = plan.task
        brief = task.revised(step_limit=min(task.step_limit, STEPS)).knowing(task.facts)
        self.plan = replace(plan, task=brief, training=None)
        d = plan.policy.size
        self.pool = Pool(self.plan, d + 64, capacity=CANDIDATES, workers=1, deadline=deadline)
        fill_table(self.pool.noise, 0)
        self.pool.begin(_job(self.plan))

    def digest(self) -> str:
        """The digest of all results; TaskBroken if the task cannot be set up here."""
        units = list(units_of(CANDIDATES))
        while True:
            settled = self.pool.exchange(units)
            if settled.broken:
                raise TaskBroken(settled.broken[0])
            if not self.pool.left:
                return _digest(self.pool.rows, self._gradient())
            units = []

    def _gradient(self) -> bytes:
        offsets, d = np.arange(9, dtype=np.int64), self.plan.policy.size
        F = np.linspace(-0.5, 0.5, 2 * offsets.size) ** 3
        return Epsilon(self.pool.noise, offsets, d).weighted_sum(F).tobytes()

    def close(self) -> None:
        self.pool.close()


def _job(plan: Plan) -> Job:
    size = plan.behavior_size
    behaviors = generator(0, 0, 0, Purpose.EPISODE).standard_normal((12, size))
    return Job(
        theta=plan.policy.init(generator(0, 0, 0, Purpose.POLICY_INIT)),
        moments=moments.initial(plan.moments_size),
        seeds=np.arange(CANDIDATES, dtype=np.int64),
        sigma=SPREAD,
        offsets=np.arange(CANDIDATES // 2, dtype=np.int64),
        contributes=np.ones(CANDIDATES, np.bool_),
        archive=archive_of(behaviors),
        whole=CANDIDATES,
    )


def _digest(rows: Rows, gradient: bytes) -> str:
    digest = hashlib.sha256(gradient)
    for name in ROWS:
        digest.update(getattr(rows, name).tobytes())
    return digest.hexdigest()
