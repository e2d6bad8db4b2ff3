"""`python -O` drops asserts: what users pass is checked before compiled code all the same."""

import os
import subprocess
import sys

import pytest

BEGINNING = """
import numpy as np
from gymnasium import spaces
import nses
from nses.core import moments, noise
from nses.core.archive import archive_of, empty
from nses.core.values import Candidates
from nses.execution.job import job_of, play
from nses.execution.runner import Plan, Runner
from nses.rollouts.episode import player
from nses.rollouts.policies.conv import Conv
from nses.rollouts.policies.mlp import MLP
from nses.rollouts.spaces import input_of

assert False, "this Python keeps asserts"
FAR = 1 << 22
mlp, seen = MLP((6, 8, 2)), moments.initial(6)
theta, short, long = (np.zeros(size, np.float32) for size in (mlp.size, 3, FAR))
table = np.zeros(1 << 10, np.float32)
"""
ATTEMPTS = {
    "parameters of an MLP": "mlp.bind(short, seen)(np.zeros(6))",
    "moments of an MLP": "mlp.bind(theta, moments.initial(3))(np.zeros(6))",
    "squares of an MLP": "mlp.bind(theta, moments.Moments(1, seen.sum, np.ones(1)))",
    "observation of an MLP": "mlp.bind(theta, seen)(np.zeros(FAR))",
    "short observation of an MLP": "mlp.bind(theta, seen)(np.zeros(3))",
    "parameters of Conv": """
conv = Conv(3, np.zeros((2, 84, 84, 4), np.uint8))
conv.bind(short, moments.nothing(0))""",
    "observation of Conv": """
conv = Conv(3, np.zeros((2, 84, 84, 4), np.uint8))
conv.bind(np.zeros(conv.size, np.float32), moments.nothing(0))(np.zeros(3))""",
    "parameters of a compiled episode": """
player(nses.make_task("point-trap"), mlp).play(short, seen, 0)""",
    "moments of a compiled episode": """
player(nses.make_task("point-trap"), mlp).play(theta, moments.initial(1), 0)""",
    "parameters of a MuJoCo episode": """
swimmer = nses.make_task("swimmer-trap")
policy = MLP((swimmer.facts.observation_space.shape[0], 4, 2))
player(swimmer, policy).play(short, moments.initial(policy.sizes[0]), 0)""",
    "a candidate": """
runner = Runner(Plan(nses.make_task("point-trap"), mlp, 3))
pair = Candidates(long, seen, np.arange(2), 0.1, noise.sample(long, FAR, 2, 0, 0))
play(runner, job_of(pair, empty(2)), long, range(2))""",
    "noise for more parameters than the table has": "noise.sample(table, FAR, 4, 0, 0)",
    "weights of the gradient": """
noise.sample(table, 3, FAR, 0, 0).weighted_sum(np.zeros(2))""",
    "a stack of behaviors": "nses.novelty(np.zeros((2, 2, 9)), np.zeros((5, 2)), 3)",
    "an archive of matrices": "nses.novelty(np.zeros((2, 2)), np.zeros((5, 2, 9)), 3)",
    "a fraction of a neighbour": "nses.novelty(np.zeros(2), np.zeros((5, 2)), 1.5)",
    "behaviors of another size": "nses.novelty(np.zeros(FAR), np.zeros((5, 2)), 3)",
    "traces of another width": """
nses.novelty(np.zeros((2, FAR), np.uint8), [np.zeros((2, 4), np.uint8)], 1, "ram")""",
    "an observation with more than its space": """
box = spaces.Box(-1, 1, (2,), np.float64)
input_of(spaces.Dict({"a": box, "b": box})).flatten({"a": np.zeros(2), "b": np.zeros(FAR)})""",
    "returns of a strategy": """
strategy = nses.Strategy("es", np.zeros(3), n=4)
strategy.ask()
strategy.tell([1.0], [[1.0]])""",
    "parameters of a strategy": 'nses.Strategy("es", np.zeros((0, 3)), n=4).ask()',
}


@pytest.mark.slow
def test_l2_compiled_code_never_sees_arrays_that_do_not_fit():
    wrong = {
        name: end
        for name, end in outcomes().items()
        if not end.startswith(("ValueError: ", "UsageError: "))
    }
    assert not wrong


def outcomes() -> dict[str, str]:
    """By name, how each attempt ended; all in one process, up to the one that kills it."""
    words = [
        f"try: exec({code!r})\n"
        f"except Exception as e: print({name!r}, type(e).__name__ + ': ' + str(e)[:99], sep='|')\n"
        f"else: print({name!r}, 'no error', sep='|')\n"
        "sys.stdout.flush()\n"
        for name, code in ATTEMPTS.items()
    ]
    done = subprocess.run(
        [sys.executable, "-c", "import sys" + BEGINNING + "".join(words)],
        env={**os.environ, "PYTHONOPTIMIZE": "1"},
        capture_output=True,
        text=True,
    )
    ends = dict(line.split("|", 1) for line in done.stdout.splitlines() if "|" in line)
    return dict.fromkeys(ATTEMPTS, f"killed: {done.returncode}, {done.stderr[-300:]}") | ends
