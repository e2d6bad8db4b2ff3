"""`python -m benchmarks search TASK`: tunes the laptop recipe of a body, for as long as you let it.

Successive halving: all trials train for the same number of environment steps, the best third goes
on for three times as many, and so on. A trial is a run on disk that stops at its steps exactly, so
this can be interrupted at any time; the same command goes on where it stopped and ends with a
table. Trial 0 is the recipe as it stands.

`--report` then trains the best trial with seeds that were not used for tuning, and says how good
the policies are.
"""

import argparse
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import nses
from nses.core.seeding import Purpose, generator

THIRD = 3
TUNING, REPORTING = 100, (2001, 2002, 2003)  # seeds, apart
EPISODES = 30
ENDLESS = 10**6  # generations: steps decide when a trial stops

Settings = dict[str, Any]


# What a trial chooses among; everything else is as in the recipe.
CHOICES: dict[str, tuple[Any, ...]] = {
    "lr": (0.005, 0.01, 0.02, 0.05, 0.1),
    "sigma": (0.005, 0.01, 0.02, 0.05),
    "n": (40, 100, 200),
    "steps_per_generation": (0, 50_000, 100_000, 200_000),
    "half_life": (0, 500, 1000),
    "moments_probability": (0.1, 1.0),
}
NETWORKS: dict[str, tuple[Any, ...]] = {"hidden": ((), (32,), (64, 64))}
# Positions and velocities of the joints, or inertias, forces and contacts too.
SEEN: dict[str, tuple[Any, ...]] = {"observation": ("0:45", None)}
SPACES = {
    "humanoid": CHOICES | SEEN | {"training_reward": (4.0, 5.0)},
    "humanoid-trap": CHOICES | SEEN,
    "ant-trap": CHOICES | NETWORKS,
    "halfcheetah": CHOICES | NETWORKS,
}


@dataclass(frozen=True)
class Result:
    """A policy in fresh episodes."""

    returns: np.ndarray
    distances: np.ndarray  # of the last place from the start, in metres

    def __str__(self) -> str:
        mean, std = self.returns.mean(), self.returns.std()
        return f"{mean:.0f} ± {std:.0f}, median distance {np.median(self.distances):.1f} m"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser("python -m benchmarks search", description=__doc__)
    parser.add_argument("task", choices=SPACES)
    parser.add_argument("--trials", type=int, default=27, help="of the first rung")
    parser.add_argument("--steps", type=int, default=3_000_000, help="of a trial in it")
    parser.add_argument("--rungs", type=int, default=4)
    parser.add_argument("--workers", type=int, default=None)
    parser.add_argument("--folder", type=Path, default=Path("search"))
    parser.add_argument("--report", action="store_true", help="train the best trial, other seeds")
    given = parser.parse_args(arguments)
    home = given.folder / given.task
    try:
        best = search(given.task, home, given.trials, given.steps, given.rungs, given.workers)
        if given.report:
            steps = given.steps * THIRD ** (given.rungs - 1)
            report(given.task, home, best, steps, given.workers)
    except nses.errors.Stopped as stopped:
        print("stopped; the same command goes on from here")
        return stopped.exit_code
    return 0


def search(
    task: str, home: Path, trials: int, steps: int, rungs: int, workers: int | None
) -> Settings:
    """The settings of the best trial of the last rung."""
    drawn = dict(enumerate(settings_of(SPACES[task], trials)))
    left = list(drawn)
    for rung in range(rungs):
        scores = {}
        for i in left:
            run = trained(task, home / f"trial-{i}", TUNING, drawn[i], steps, workers)
            scores[i] = result = tested(run, after(run, steps))
            print(f"rung {rung}, trial {i}, {steps:,} steps: {result}  {words(drawn[i])}",
                  flush=True)  # fmt: skip
        left = sorted(left, key=lambda i: -scores[i].returns.mean())[: max(1, len(left) // THIRD)]
        steps *= THIRD
    print(f"\nbest: trial {left[0]}  {words(drawn[left[0]])}")
    return drawn[left[0]]


def settings_of(choices: dict[str, tuple[Any, ...]], trials: int) -> Iterator[Settings]:
    """What every trial changes; the i-th does not depend on how many there are."""
    yield {}
    for i in range(1, trials):
        rng = generator(TUNING, 0, i, Purpose.POLICY_INIT)
        yield {name: x[int(rng.integers(len(x)))] for name, x in choices.items()}


def trained(
    task: str, place: Path, seed: int, settings: Settings, steps: int, workers: int | None
) -> nses.Run:
    """A run after the first generation that has made so many steps, begun or continued."""

    def enough(state: nses.State, record: dict[str, Any]) -> None:
        if state.env_steps >= steps:
            raise nses.StopTraining

    if (place / "config.json").exists():
        run = nses.load(place)
        if run.metrics and run.metrics[-1]["env_steps"] >= steps:
            return run
    usual = {"algorithm": "es", "generations": ENDLESS, "tensorboard": False, "pictures": False}
    return nses.train(
        task, seed=seed, run_dir=place, listener=enough, workers=workers, **usual | settings
    )


def after(run: nses.Run, steps: int) -> str:
    """The policy of a run when it had made so many steps, however much longer it is by now.

    So a search that is interrupted and begun again decides as it did.
    """
    generation = next(r["generation"] for r in run.metrics if r["env_steps"] >= steps)
    return f"generation:{generation}"


def tested(run: nses.Run, policy: str) -> Result:
    """A policy in fresh episodes."""
    played = nses.evaluate(run, policy, EPISODES)
    return Result(played.returns, np.array([math.hypot(*b) for b in played.behaviors]))


def report(task: str, home: Path, settings: Settings, steps: int, workers: int | None) -> None:
    """Train with seeds of their own, and print how good the policies are."""
    for seed in REPORTING:
        run = trained(task, home / f"seed-{seed}", seed, settings, steps, workers)
        minutes = run.metrics[-1]["seconds"] / 60
        print(f"seed {seed}: {tested(run, 'best')}, {minutes:.0f} minutes", flush=True)


def words(settings: Settings) -> str:
    return " ".join(f"{name}={value}" for name, value in settings.items()) or "the recipe"
