"""Plans, candidates and evaluators to test with, and what it means that two evaluations agree."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from nses.core import noise
from nses.core.archive import Archive, archive_of
from nses.core.moments import initial
from nses.core.seeding import Purpose, generator
from nses.core.traces import is_trace
from nses.core.values import Candidates, Evaluation
from nses.execution.pool import Pool
from nses.execution.processes import Processes
from nses.execution.runner import Plan
from nses.execution.serial import Serial
from nses.rollouts.policies.mlp import MLP
from nses.rollouts.spaces import input_of, output_of
from nses.rollouts.tasks.task import Task
from waiting import SOON

TABLE = np.empty(1 << 12, np.float32)
noise.fill_table(TABLE, 0)


def plan_of(task: Task, **settings: Any) -> Plan:
    inputs, outputs = input_of(task.facts.observation_space), output_of(task.facts.action_space)
    policy = MLP((inputs.size, 4, outputs.size), "tanh", normalize=True)
    return Plan(task, policy, k=3, **{"action_noise": 0.1, **settings})


def theta_of(plan: Plan) -> Any:
    return plan.policy.init(generator(0, 0, 0, Purpose.POLICY_INIT))


def perturbed(plan: Plan, n: int = 32) -> Candidates:
    """Candidate i plays with seed i; every third contributes its observations."""
    return Candidates(
        theta=theta_of(plan),
        moments=initial(plan.policy.observation_size),
        seeds=np.arange(n),
        sigma=0.5,
        epsilon=noise.sample(TABLE, plan.policy.size, n, 0, 0),
        contributes=np.arange(n) % 3 == 0,
    )


def unperturbed(plan: Plan, n: int = 5) -> Candidates:
    return Candidates(theta_of(plan), initial(plan.policy.observation_size), np.arange(n))


def archive(size: int, dimensions: int = 2) -> Archive:
    return archive_of(generator(0, 0, 0, Purpose.EPISODE).standard_normal((size, dimensions)))


def serially(plan: Plan, candidates: Candidates, A: Archive) -> Evaluation:
    with Serial(plan) as evaluate:
        return evaluate(candidates, A)


@contextmanager
def processes(plan: Plan, workers: int = 2, **settings: Any) -> Iterator[Processes]:
    pool = Pool(plan, TABLE.size, **{"capacity": 64, **settings}, workers=workers)
    with Processes(pool) as evaluate:
        evaluate.noise[:] = TABLE
        yield evaluate


def wait_until_ready(evaluate: Processes) -> None:
    """All workers have something to say."""
    assert all(worker.connection.poll(2 * SOON) for worker in evaluate.pool.workers)


def program(tmp_path: Path, text: str) -> dict[str, Any]:
    """How to start a program with our helpers on its path, between traps for careless imports."""
    for name in ("signal", "pickle", "numpy"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('the wrong module')")
    (tmp_path / "program").mkdir()
    file = tmp_path / "program" / "main.py"
    file.write_text(text)
    path = [str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
    return {
        "args": [sys.executable, str(file)],
        "env": {**os.environ, "PYTHONPATH": os.pathsep.join(path).rstrip(os.pathsep)},
        "cwd": tmp_path,
        "stdout": subprocess.PIPE,
        "stderr": subprocess.PIPE,
    }


def assert_same(a: Evaluation, b: Evaluation, but: tuple[int, ...] = ()) -> None:
    """To the bit, NaN included, except for some candidates and what is merged over all."""
    rows = np.setdiff1d(np.arange(len(a.f)), but)
    for name in ("f", "N", "lengths"):
        x, y = getattr(a, name)[rows], getattr(b, name)[rows]
        assert x.tobytes() == y.tobytes(), name
    assert (a.b is None) == (b.b is None)
    if a.b is not None and b.b is not None:
        x, y = (e.b if is_trace(e.b) else e.b[rows] for e in (a, b))
        assert (x.dtype, x.shape, x.tobytes()) == (y.dtype, y.shape, y.tobytes())
    if not but:
        assert a.moments.count == b.moments.count
        assert a.moments.sum.tobytes() == b.moments.sum.tobytes()
        assert a.moments.square.tobytes() == b.moments.square.tobytes()
