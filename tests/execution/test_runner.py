"""The simulator that a job is played in."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from batches import plan_of
from environments import drift
from nses.core.moments import initial
from nses.execution.runner import Runner
from nses.rollouts.tasks.catalog import make_task

POINT = plan_of(make_task("point-trap", max_steps=9))
COMPILED = """
import sys
sys.path[:0] = {path}
from numba.core.dispatcher import Dispatcher
from batches import TABLE, archive, perturbed, plan_of, unperturbed
from nses.execution.job import job_of, play
from nses.execution.runner import Runner
from nses.rollouts.tasks.catalog import make_task

def compiled():
    modules = [m for name, m in sys.modules.items() if name.startswith("nses.")]
    functions = {{f for m in modules for f in vars(m).values() if isinstance(f, Dispatcher)}}
    return sorted((f.__name__, str(s)) for f in functions for s in f.signatures)

plan = plan_of({task}, native={native})
before = compiled()
runner = Runner(plan)
runner.warm_up()
warm = compiled()
for candidates in (perturbed(plan, 4), unperturbed(plan, 2)):
    play(runner, job_of(candidates, archive(5)), TABLE, range(len(candidates)))
assert len(warm) > len(before)
assert compiled() == warm, set(compiled()) - set(warm)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("task", "native"),
    [("point-trap", True), ("point-trap", False), ("swimmer-trap", True), ("CartPole-v1", False)],
)
def test_m15_a_runner_that_is_warm_compiles_nothing_more(task: str, native: bool):
    behavior = "'final-observation:0,1'" if task == "CartPole-v1" else None
    make = f"make_task({task!r}, {behavior}, max_steps=3)"
    code = COMPILED.format(path=sys.path, task=make, native=native)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_candidates_play_the_training_task_and_all_others_the_task_itself():
    runner = Runner(replace(POINT, training=make_task("point-trap", max_steps=5)))
    theta, moments = np.zeros(POINT.policy.size, np.float32), initial(POINT.moments_size)
    lengths = [runner.play(theta, moments, 0, training=t).length for t in (True, False)]
    assert lengths == [5, 9]
    assert Runner(POINT).play(theta, moments, 0, training=True).length == 9
    assert len(runner.players) == 2
    runner.close()


def test_only_compiled_loops_run_no_code_of_a_user():
    assert POINT.compiled
    assert not replace(POINT, native=False).compiled
    assert not replace(POINT, training=drift()).compiled
    assert replace(POINT, training=make_task("point-trap", half_width=1.5)).compiled
