"""The package is typed: what a user writes passes pyright in strict mode."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import nses

SNIPPET = '''
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

import nses
from nses.errors import CheckpointRefused, UsageError


class Linear:
    """A policy of one's own."""

    size = 12
    observation_size = 6
    moments_size = 6

    def init(self, rng: np.random.Generator) -> NDArray[np.float32]:
        return rng.standard_normal(self.size, np.float32)

    def bind(
        self, theta: NDArray[np.float32], moments: nses.Moments
    ) -> Callable[[NDArray[np.float64]], NDArray[np.float32]]:
        W = theta.reshape(2, 6).copy()
        mean = moments.mean
        return lambda x: (W @ (x - mean)).astype(np.float32)


def listener(state: nses.State, record: dict[str, Any]) -> None:
    if record["best"] > 20 or state.generation > 50:
        raise nses.StopTraining


def place(observation: Any, info: dict[str, Any]) -> list[float]:
    return [float(info["x"]), float(info["y"])]


def make() -> "gymnasium.Env[NDArray[np.float64], NDArray[np.float32]]":
    return gymnasium.make("NSES/PointTrap-v0")


policy: nses.Policy = Linear()
task = nses.Task("mine", make, nses.Behavior("place", place), 300)
nses.check_task(task)
nses.check_policy(policy, task)
try:
    run = nses.train(task, algorithm="nsra-es", seed=1, policy=policy, listener=listener, n=20)
    run = nses.resume(run.path, task=task, policy=policy, generations=10)
    run = nses.train("point-trap", recipe="smoke", progress=True, stop_at=20, time_limit="1h")
    for algorithm in nses.ALGORITHMS:
        run = nses.train("point-trap", algorithm=algorithm, hidden=[8], ranks="ordinal")
except (UsageError, CheckpointRefused) as error:
    raise SystemExit(error.exit_code) from error

trained = nses.load(run.path, policy=policy).policy("best")
action = trained(np.zeros(6))
score: float = run.best.score
print(action, score, nses.evaluate(run, episodes=3, task=task).returns.mean())

last: float | None = run.metrics[-1]["score"]
scores: NDArray[Any] = run.metrics["score"]
print(last, scores.max(), run.metrics.columns, run.diagnosis, run.evaluate("best", 3).returns)
print(run.replay(3, candidate=1)["same bits"], run.export().model, run.report().name)
print(run.render("best", episodes=2).path, run.plot("learning", by="hours"))
print(nses.compare(run, "runs", paper=True).rows[0].best_median)

strategy = nses.Strategy("nsra-es", np.zeros(4, np.float32), n=10, sigma=0.1, k=3, seed=0)
for _ in range(3):
    thetas = strategy.ask()
    strategy.tell([float(theta.sum()) for theta in thetas], thetas[:, :2])
best: NDArray[np.float32] = strategy.best.theta

config = nses.recipe("point-trap", "smoke", "es")
with nses.search_of(config, nses.make_task("point-trap")) as search:
    for state, report in search.run(generations=2):
        print(state.generation, report.best)
print(nses.novelty([0.0], [[1.0]], 1), nses.centered_ranks([1.0, 2.0]), best)
'''


def test_the_package_says_that_it_is_typed():
    assert (Path(nses.__file__).parent / "py.typed").is_file()


SLIPS = {
    'nses.evaluate(run, episodes="3")': '"Literal[\'3\']" is not assignable to "int"',
    'nses.train("point-trap", generatoins=3)': 'No parameter named "generatoins"',
    'nses.train("point-trap", recipe="labtop")': "Literal['labtop']",
    'nses.resume(run.path, ranks="equal")': "Literal['equal']",
}


@pytest.mark.slow
@pytest.mark.parametrize("slips", [{}, SLIPS], ids=["none", "slips"])
def test_pyright_in_strict_mode_agrees_with_what_a_user_writes_and_finds_slips(tmp_path, slips):
    (tmp_path / "snippet.py").write_text(SNIPPET + "\n".join(slips))
    source = Path(nses.__file__).parents[1]
    (tmp_path / "pyrightconfig.json").write_text(
        f'{{"typeCheckingMode": "strict", "extraPaths": ["{source}"]}}'
    )
    pyright = shutil.which("pyright", path=str(Path(sys.executable).parent))
    assert pyright, "the extra 'dev' brings pyright"
    command = [pyright, "--pythonpath", sys.executable, "snippet.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == (1 if slips else 0), done.stdout
    assert f"{len(slips)} error" in done.stdout
    assert all(complaint in done.stdout for complaint in slips.values())
