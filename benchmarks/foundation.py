"""The promises of the foundation, each as a ratio or a time measured on this machine."""

import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from rich.console import Console

from nses.core import archive, moments, noise
from nses.core.algorithms import ALGORITHMS, Hyperparameters, Search
from nses.core.archive import Archive
from nses.core.novelty import TREE_TAIL, novelty
from nses.core.values import Candidates, Evaluation, State
from nses.execution.processes import Processes
from nses.experiment.reproduce import reproduce
from nses.experiment.runs import checkpoint
from nses.experiment.runs.journal import Journal
from nses.experiment.settings.build import search_of
from nses.experiment.settings.recipes import recipe
from nses.rollouts.episode import GymnasiumPlayer
from nses.rollouts.policies.mlp import MLP
from nses.rollouts.tasks.catalog import make_task
from nses.rollouts.tasks.task import Task


@dataclass(frozen=True)
class Measure:
    what: str
    result: float
    unit: str
    bound: str
    met: bool


def _median_seconds(act: Callable[[], object], times: int) -> float:
    durations = []
    for _ in range(times):
        before = time.perf_counter()
        act()
        durations.append(time.perf_counter() - before)
    return float(np.median(durations))


def _in_turns(
    one: Callable[[], object], two: Callable[[], object], turns: int, calls: int
) -> tuple[float, float]:
    """How many times as fast the second is, and the seconds of the first: medians over turns."""
    seconds = [(_median_seconds(one, calls), _median_seconds(two, calls)) for _ in range(turns)]
    ratio = np.median([slow / fast for slow, fast in seconds])
    return float(ratio), float(np.median([slow for slow, _ in seconds]))


def scaling() -> Iterator[Measure]:
    """A generation with two workers against one, in turns, so that both see the same load."""
    config = replace(recipe("point-trap", "laptop", "nsra-es"), n=2000, generations=10**6)
    task = make_task("point-trap")

    @contextmanager
    def stepping(workers: int) -> Iterator[Callable[[], object]]:
        with search_of(replace(config, workers=workers), task) as search:
            generations = search.run()
            next(generations)
            yield lambda: next(generations)

    with stepping(1) as one, stepping(2) as two:
        ratio, single = _in_turns(one, two, turns=7, calls=3)
    yield Measure(
        f"point-trap, n = 2000 ({single * 1e3:.0f} ms per generation): 2 workers to 1",
        ratio, "×", "≥ 1.8", ratio >= 1.8,
    )  # fmt: skip


def coordinator() -> Iterator[Measure]:
    """Everything but simulation, for the paper's humanoid: evaluation costs nothing here."""
    policy, n, T = MLP((376, 256, 256, 17)), 10_000, 800
    rng = np.random.default_rng(0)
    f, b = rng.standard_normal(n), rng.standard_normal((n, 2))

    def evaluate(candidates: Candidates, A: Archive) -> Evaluation:
        size = len(candidates)
        N = novelty(b[:size], A, 10) if len(A) else np.zeros(size)  # the workers' job, counted here
        lengths = np.full(size, 1000)
        return Evaluation(f[:size], N, lengths, moments.nothing(376), b[:size])

    table = np.empty(noise.table_size(policy.size), np.float32)
    noise.fill_table(table, 0)
    h = Hyperparameters(n=n, M=5, E=30)
    search = Search(ALGORITHMS["nsra-es"], h, 0, policy.init, 376, table, evaluate)
    state = search.init()
    state = replace(state, archive=archive.archive_of(rng.standard_normal((T, 2))))
    with tempfile.TemporaryDirectory(dir=".") as name:
        directory = Path(name)
        with Journal(directory, state, tensorboard=True) as journal:

            def generation(state: State) -> State:
                state, report = search.step(state)
                journal.write(state, report)
                checkpoint.save(directory / "checkpoints", state, {})  # the worst case
                return state

            (directory / "checkpoints").mkdir()
            state = generation(state)
            seconds = _median_seconds(lambda: generation(state), 5)
    yield Measure(
        "coordinator, n = 10,000, d = 166,673, archive 800, a checkpoint every generation",
        seconds, "s per generation", "≤ 1.5", seconds <= 1.5,
    )  # fmt: skip


def gradient() -> Iterator[Measure]:
    """The sum over all candidates with two threads against one, in turns."""
    for name, n, d in (("humanoid", 10_000, 166_673), ("Atari", 5_000, 1_009_058)):
        table = np.empty(noise.table_size(d), np.float32)
        noise.fill_table(table, 0)
        epsilon = noise.sample(table, d, n, 0, 0)
        F = np.random.default_rng(0).standard_normal(n)
        one, two = (partial(epsilon.weighted_sum, F, threads) for threads in (1, 2))
        assert np.array_equal(one(), two()), "the bits differ"
        ratio, single = _in_turns(one, two, turns=9, calls=1)
        yield Measure(
            f"gradient of {name}, n = {n:,}, d = {d:,} ({single:.2f} s with one "
            "thread): 2 threads to 1",
            ratio, "×", "≥ 1.4", ratio >= 1.4,
        )  # fmt: skip


def neighbours() -> Iterator[Measure]:
    """10,000 behaviors against 10⁶ entries, plus one per generation; rebuilding included."""
    rng = np.random.default_rng(0)
    A = archive.archive_of(rng.standard_normal((1_000_000, 2)))
    b = rng.standard_normal((10_000, 2))
    before = time.perf_counter()
    novelty(b, A, 10)
    first = time.perf_counter() - before
    generations = 50
    before = time.perf_counter()
    for _ in range(generations):
        A = A.append(rng.standard_normal(2))
        novelty(b, A, 10)
    each = (time.perf_counter() - before) / generations
    N = novelty(b, A, 10)
    squared = ((b[:20, None] - A.rows[None]) ** 2).sum(axis=2)
    exact = np.sort(squared, axis=1)[:, :10].mean(axis=1)
    assert np.allclose(N[:20], exact, rtol=1e-12), "not exact"
    # The tree is built once in TREE_TAIL generations; until then the tail is scanned.
    for _ in range(TREE_TAIL - generations):
        A = A.append(rng.standard_normal(2))
    full = _median_seconds(lambda: novelty(b, A, 10), 5)
    yield Measure(
        f"novelty of 10,000 against 10⁶ in 2-D (first call, building the tree: {first:.2f} s)",
        each, "s per generation", "< 0.15", each < 0.15,
    )  # fmt: skip
    yield Measure(
        "the same, just before the tree is rebuilt",
        full,
        "s per generation",
        "< 0.15",
        full < 0.15,
    )


class Wide(gym.Env[Any, Any]):
    """As many observations and actions as the humanoid."""

    observation_space = spaces.Box(-np.inf, np.inf, (376,), np.float64)
    action_space = spaces.Box(-0.4, 0.4, (17,), np.float32)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        return self.np_random.standard_normal(376), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        x = float(action[0])
        return self.np_random.standard_normal(376), x, False, False, {"x": x, "y": x}


def memory() -> Iterator[Measure]:
    """Proportional resident memory of the coordinator and two workers after a generation."""
    from nses.rollouts.behaviors import parse_behavior

    task = Task("wide", Wide, parse_behavior("final:x,y"), 10)
    config = replace(recipe("wide", "paper", "nsra-es"), n=1000, workers=2, evaluation_episodes=5)
    with search_of(config, task) as search:
        next(search.run())
        assert isinstance(search.evaluate, Processes)
        pids = [os.getpid(), *(w.process.pid for w in search.evaluate.pool.workers)]
        total = sum(_proportional_bytes(pid) for pid in pids) / 1e9
    yield Measure(
        "memory of coordinator and 2 workers, 376-256-256-17, noise included",
        total, "GB", "< 1.2", total < 1.2,
    )  # fmt: skip


def _proportional_bytes(pid: int) -> int:
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    raise AssertionError


def gymnasium_throughput() -> Iterator[Measure]:
    """A whole training episode against a bare loop over env.step with recorded actions."""
    task = make_task(
        "Ant-v5", "final:x_position,y_position", max_steps=300, terminate_when_unhealthy=False
    )
    facts = task.facts
    policy = MLP((facts.observation_space.shape[0], 64, 64, facts.action_space.shape[0]))  # type: ignore[index]
    player = GymnasiumPlayer(task, policy)
    environment = task.make()
    theta = policy.init(np.random.default_rng(0))
    start = moments.initial(policy.observation_size)

    def actions_of(seed: int) -> list[Any]:
        """The actions of the episode, so that both loops simulate the same thing."""
        respond, actions = policy.bind(theta, start), []
        observation, _ = environment.reset(seed=seed)
        for _ in range(task.step_limit):
            actions.append(player.output.act(respond(player.input.flatten(observation))))
            observation, *_ = environment.step(actions[-1])
        return actions

    def bare(seed: int, actions: list[Any]) -> None:
        environment.reset(seed=seed)
        for action in actions:
            environment.step(action)

    ratios, steps = [], []
    for seed in range(8):
        actions = actions_of(seed)
        alone = _median_seconds(partial(bare, seed, actions), 3)
        ours = _median_seconds(partial(player.play, theta, start, seed, action_noise=0.01), 3)
        ratios.append(alone / ours)
        steps.append(alone / task.step_limit)
    ratio = float(np.median(ratios))
    yield Measure(
        f"Ant-v5 ({np.median(steps) * 1e6:.0f} µs per step): throughput to a bare env.step loop",
        100 * ratio, "%", "≥ 80", ratio >= 0.8,
    )  # fmt: skip


def start_up() -> Iterator[Measure]:
    """`nses --help`, against a Python that does nothing."""
    import subprocess
    import sys

    def run(*arguments: str) -> Callable[[], object]:
        return lambda: subprocess.run([sys.executable, *arguments], capture_output=True, check=True)

    seconds = _median_seconds(run("-m", "nses", "--help"), 7)
    bare = _median_seconds(run("-c", ""), 7)
    yield Measure(
        f"nses --help (Python alone: {bare * 1e3:.0f} ms)", seconds, "s", "< 0.5", seconds < 0.5
    )


def escape() -> Iterator[Measure]:
    """The paper's effect on point-trap over ten seeds: `nses reproduce`, kept and resumable."""
    directory = Path("runs") / "benchmark-escape"
    reproduce(
        "point-trap",
        recipe="laptop",
        seeds=range(10),
        workers=None,
        directory=directory,
        console=Console(stderr=True),
    )
    document = json.loads((directory / "point-trap" / "comparison.json").read_text())
    p = {pair["b"]: pair["p"] for pair in document["pairs"] if pair["a"] == "es"}
    for row in document["rows"]:
        name, out = row["label"], row["reached"]
        median = f"median best {row['best_median']:.2f}"
        if name == "es":
            yield Measure(f"es in the trap, of 10 ({median})", 10 - out, "", "≥ 9", out <= 1)
            continue
        yield Measure(f"{name} out of the trap, of 10 ({median})", out, "", "≥ 8", out >= 8)
        yield Measure(f"{name} against es, Mann-Whitney p", p[name], "", "< 0.01", p[name] < 0.01)


MEASURES: dict[str, Callable[[], Iterator[Measure]]] = {
    "start-up": start_up,
    "scaling": scaling,
    "coordinator": coordinator,
    "gradient": gradient,
    "neighbours": neighbours,
    "memory": memory,
    "gymnasium": gymnasium_throughput,
    "escape": escape,
}
