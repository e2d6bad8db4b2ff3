"""`python -m benchmarks defaults`: do the general settings solve what users bring?

Trains twelve small problems, seven of them deceptive or sparse, with the same settings for all, and
keeps one line per run in docs/results/defaults.csv. What stands there is not trained again, so it
can be interrupted at any time. Without `--settings` it only prints the table.

A run ends when its best policy solves the problem in 30 fresh episodes, or with its last
generation; each try has episodes of its own. Each run has one CPU to itself.
"""

import argparse
import csv
import itertools
import math
import multiprocessing
import os
import signal
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from benchmarks.trial import ROOT

if TYPE_CHECKING:
    from nses import Run, State

FILE = ROOT / "docs" / "results" / "defaults.csv"
HEAD = ("settings", "problem", "algorithm", "seed", "score", "solved", "generation", "lowest_w")
TUNING, REPORTING = range(1000, 1003), range(5)  # seeds, apart
EPISODES = 30  # fresh ones, that decide


@dataclass(frozen=True)
class Problem:
    """`solved` is a mean return over fresh episodes of the best policy."""

    name: str
    task: str
    solved: float
    hard: bool  # deceptive, or hardly ever paid
    settings: dict[str, Any] = field(default_factory=dict[str, Any])

    def __str__(self) -> str:
        return f"{self.name} (hard)" if self.hard else self.name


OUT = {"point-trap": 5.7, "swimmer-trap": 4.6}  # x, in metres
# Not the mission, which is a text. Where an episode ends is its behavior, as in a maze.
SEEN: dict[str, Any] = {"observation": "image,direction", "behavior": "final-attribute:agent_pos"}
PROBLEMS = {
    problem.name: problem
    for problem in (
        Problem("point", "point", 25.0, False),
        Problem("point-trap", "point-trap", OUT["point-trap"], True),
        Problem("swimmer", "swimmer", 30.0, False),
        Problem("swimmer-trap", "swimmer-trap", OUT["swimmer-trap"], True),
        Problem("MountainCar", "MountainCar-v0", -110.0, True),
        Problem("MountainCarContinuous", "MountainCarContinuous-v0", 90.0, True),
        Problem("LunarLander", "LunarLander-v3", 200.0, False),
        Problem("CartPole", "CartPole-v1", 475.0, False),
        Problem("Pendulum", "Pendulum-v1", -200.0, False),
        Problem("maze", "examples.maze:task", 10.0, True),
        Problem(
            "DoorKey", "minigrid:MiniGrid-DoorKey-5x5-v0", 0.5, True, {**SEEN, "max_steps": 100}
        ),
        Problem("Empty", "minigrid:MiniGrid-Empty-5x5-v0", 0.9, True, SEEN),
    )
}

FORMER = {
    "members": 3, "generations": 100, "n": 100, "sigma": 0.1, "lr": 0.05,
    "evaluation_episodes": 10, "weight_patience": 10, "weight_step": 0.05, "hidden": (32, 32),
    "moments_probability": 0.1,
}  # fmt: skip
# As many episodes, but twice as many generations, in which the weight can fall to 0 and return.
EAGER = {
    **FORMER, "generations": 200, "n": 50, "evaluation_episodes": 5, "weight_patience": 5,
    "weight_step": 0.1,
}  # fmt: skip
MANY = {**EAGER, "generations": 500, "n": 20, "evaluation_episodes": 2, "weight_patience": 10}
SETTINGS: dict[str, dict[str, Any]] = {
    "former": FORMER,
    "patient": {**FORMER, "weight_patience": 3, "weight_step": 0.1},
    "longer": {**EAGER, "weight_patience": 10, "weight_step": 0.05},
    "eager": EAGER,
    "eager-slow": {**EAGER, "lr": 0.02},
    "eager-alone": {**EAGER, "members": 1},
    "eager-free": {**EAGER, "l2": 0.0},
    "eager-free-alone": {**EAGER, "l2": 0.0, "members": 1},
    "eager-free-pair": {**EAGER, "l2": 0.0, "members": 2},
    "eager-brief": {**EAGER, "weight_patience": 3},
    "many": MANY,
    "many-alone": {**MANY, "members": 1},
    "many-quick": {**MANY, "lr": 0.1},
}
CHANGE = "former", "eager"  # the general recipe, before and after the study


def main(arguments: list[str]) -> int:
    from nses import ALGORITHMS
    from nses.execution.worker import die_with_parent

    parser = argparse.ArgumentParser("python -m benchmarks defaults", description=__doc__)
    parser.add_argument("--settings", nargs="+", choices=SETTINGS, default=[])
    parser.add_argument("--problems", nargs="+", choices=PROBLEMS, default=list(PROBLEMS))
    parser.add_argument("--algorithms", nargs="+", choices=ALGORITHMS, default=list(ALGORITHMS))
    parser.add_argument("--tuning", action="store_true", help="other seeds than those reported")
    parser.add_argument("--seeds", type=int, help="only the first so many")
    parser.add_argument("--workers", type=int, default=2, help="runs at a time")
    given = parser.parse_args(arguments)
    seeds = (TUNING if given.tuning else REPORTING)[: given.seeds]
    there = {row[:4] for row in kept()}
    # Seed by seed, so that whatever is there after an interruption compares.
    missing = [
        (*key, seed)
        for seed in seeds
        for key in itertools.product(given.settings, given.problems, given.algorithms)
        if (*key, str(seed)) not in there
    ]
    kind, us = multiprocessing.get_context("spawn"), (os.getpid(), signal.SIGKILL)
    with ProcessPoolExecutor(given.workers, kind, die_with_parent, us) as pool:
        for future in as_completed([pool.submit(trained, key) for key in missing]):
            keep(future.result())
    rows = [row for row in kept() if int(row[3]) in seeds]
    print("\n".join(table(rows)))
    print("\n".join(["", *changes(rows, *CHANGE)]))
    return 0


def trained(key: tuple[str, str, str, int]) -> tuple[str, ...]:
    """The line of one run."""
    import nses

    settings, name, algorithm, seed = key
    problem = PROBLEMS[name]
    chosen = {**SETTINGS[settings], **problem.settings, "algorithm": algorithm, "seed": seed}
    if algorithm == "es":
        del chosen["members"]
    promising = Promising(problem.solved)
    with tempfile.TemporaryDirectory(prefix="nses-defaults-") as place:
        run = nses.train(
            problem.task, run_dir=place, listener=promising, backend="serial", pictures=False,
            tensorboard=False, retest_episodes=1, **chosen,
        )  # fmt: skip
        score = tried(run, attempt := 1)
        while score < problem.solved and run.metrics[-1]["generation"] < chosen["generations"]:
            run = nses.resume(place, listener=promising)
            score = tried(run, attempt := attempt + 1)
        generation = run.metrics[-1]["generation"]
        lowest = min(record["weight"] for record in run.metrics)
    solved = score >= problem.solved
    print(f"{name} {algorithm} {settings} {seed}: {score:.2f} {'✓' if solved else ''}", flush=True)
    numbers = (f"{score:.4g}", str(int(solved)), str(generation), f"{lowest:.2f}")
    return (settings, name, algorithm, str(seed), *numbers)


def tried(run: "Run", seed: int) -> float:
    """The mean return of the best policy in fresh episodes."""
    import nses

    return float(nses.evaluate(run, episodes=EPISODES, seed=seed).returns.mean())


@dataclass
class Promising:
    """Stops a run whenever a new best policy seems to solve the problem."""

    solved: float
    best: float = -math.inf

    def __call__(self, state: "State", record: dict[str, Any]) -> None:
        from nses import StopTraining

        if record["best"] > self.best:
            self.best = record["best"]
            if self.best >= self.solved:
                raise StopTraining


def kept() -> list[tuple[str, ...]]:
    if not FILE.exists():
        return []
    with FILE.open(newline="") as file:
        return [tuple(row) for row in csv.reader(file)][1:]


def keep(row: tuple[str, ...]) -> None:
    first = not FILE.exists()
    with FILE.open("a", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([HEAD, row] if first else [row])


def table(rows: list[tuple[str, ...]]) -> Iterator[str]:
    """How many runs of how many solved each problem, by settings and algorithm."""
    columns = sorted({(row[0], row[2]) for row in rows})
    yield f"| problem | {' | '.join(f'{a}, {s}' for s, a in columns)} |"
    yield "|---" * (len(columns) + 1) + "|"
    for problem in PROBLEMS.values():
        cells = []
        for column in columns:
            solved = [int(r[5]) for r in rows if (r[0], r[2]) == column and r[1] == problem.name]
            cells.append(f"{sum(solved)} of {len(solved)}" if solved else "–")
        yield f"| {problem} | {' | '.join(cells)} |"


def changes(rows: list[tuple[str, ...]], old: str, new: str) -> Iterator[str]:
    """How many of the runs that both settings have solved each problem: before → after."""
    solved = {row[:4]: int(row[5]) for row in rows}
    both = [key[1:] for key in solved if key[0] == old and (new, *key[1:]) in solved]
    algorithms = sorted({algorithm for _, algorithm, _ in both})
    yield f"| {old} → {new} | {' | '.join(algorithms)} |"
    yield "|---" * (len(algorithms) + 1) + "|"
    hard = {name for name, problem in PROBLEMS.items() if problem.hard}
    lines = {str(problem): {problem.name} for problem in PROBLEMS.values()}
    for title, names in {**lines, "all hard ones": hard, "all": {*PROBLEMS}}.items():
        cells = []
        for algorithm in algorithms:
            keys = [key for key in both if key[0] in names and key[1] == algorithm]
            before, after = (sum(solved[settings, *key] for key in keys) for settings in (old, new))
            cells.append(f"{before} → {after} of {len(keys)}")
        yield f"| {title} | {' | '.join(cells)} |"
