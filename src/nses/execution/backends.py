"""Where episodes are played: every backend is a row of a table."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from nses.core.archive import Archive
from nses.core.foresight import Foresee, ignore
from nses.core.noise import Epsilon, Table
from nses.core.values import Candidates, Evaluation, Floats
from nses.execution.cpus import usable_cpus
from nses.execution.pool import DEADLINE, Pool
from nses.execution.processes import Processes
from nses.execution.runner import Plan
from nses.execution.serial import Serial
from nses.execution.sharing import Sharers, alone
from nses.rollouts.episode import never

WeightedSum = Callable[[Epsilon, Floats, int], Floats]  # with so many threads of this process


class Backend(Protocol):
    """An `Evaluate` that owns its simulators and the noise table, until it is closed.

    Whoever starts it fills the table before the first call.
    """

    noise: Table

    def __call__(self, candidates: Candidates, archive: Archive) -> Evaluation: ...
    def close(self) -> None: ...


@dataclass(frozen=True)
class Setup:
    """What a run tells any backend."""

    noise_size: int
    capacity: int  # candidates in a usual call; larger calls are played in parts
    workers: int | None = None  # None: one for every CPU
    deadline: float = DEADLINE  # seconds for an episode
    should_stop: Callable[[], bool] = never
    seed: int = 0  # of the table of noise, for machines that fill their own
    ray_address: str | None = None  # of a cluster; None starts one on this machine for the run
    other_numerics: bool = False  # whether machines whose bits may differ can play
    sharers: Sharers = alone  # other runs may share the CPUs
    look_ahead: bool = False  # whether idle workers play what will probably come next


def _here(backend: Backend) -> WeightedSum:
    return Epsilon.weighted_sum


def _blind(backend: Backend) -> Foresee:
    return ignore


@dataclass(frozen=True)
class Row:
    """How to start a backend, and how many processes it plays in besides this one."""

    start: Callable[[Plan, Setup], Backend]
    workers: Callable[[int | None], int]
    weighted_sum: Callable[[Backend], WeightedSum] = _here  # where the gradient is summed
    foresee: Callable[[Backend], Foresee] = _blind  # who takes hints at what comes next

    def threads(self, workers: int | None) -> int:
        """Threads for this process while its workers wait: the CPUs that the run may use."""
        return max(1, min(usable_cpus(), self.workers(workers)))


def _serial(plan: Plan, setup: Setup) -> Backend:
    return Serial(plan, setup.should_stop, setup.noise_size)


def _processes(plan: Plan, setup: Setup) -> Backend:
    pool = Pool(
        plan,
        setup.noise_size,
        capacity=setup.capacity,
        workers=setup.workers,
        at_first=None if setup.sharers is alone else 0,
        deadline=setup.deadline,
        should_stop=setup.should_stop,
        look_ahead=setup.look_ahead,
    )
    return Processes(pool, setup.sharers)


def _on_our_cpus(backend: Backend) -> WeightedSum:
    assert isinstance(backend, Processes)
    return backend.weighted_sum


def _by_our_workers(backend: Backend) -> Foresee:
    assert isinstance(backend, Processes)
    return backend.foresee


def _ray(plan: Plan, setup: Setup) -> Backend:
    from nses.execution.ray import OnRay, Place

    return OnRay(
        plan,
        setup.noise_size,
        seed=setup.seed,
        capacity=setup.capacity,
        workers=setup.workers,
        deadline=setup.deadline,
        should_stop=setup.should_stop,
        place=Place(setup.ray_address, setup.other_numerics, setup.sharers, setup.look_ahead),
    )


def _on_nodes(backend: Backend) -> WeightedSum:
    from nses.execution.ray import OnRay

    assert isinstance(backend, OnRay)
    return backend.weighted_sum


def _by_nodes(backend: Backend) -> Foresee:
    from nses.execution.ray import OnRay

    assert isinstance(backend, OnRay)
    return backend.foresee


BACKENDS = {
    "serial": Row(_serial, workers=lambda asked: 0),
    "processes": Row(
        _processes, lambda asked: asked or usable_cpus(), _on_our_cpus, _by_our_workers
    ),
    "ray": Row(_ray, lambda asked: asked or usable_cpus(), _on_nodes, _by_nodes),
}
