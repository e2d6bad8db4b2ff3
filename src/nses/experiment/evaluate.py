"""Fresh episodes of a trained policy."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nses.core import archive
from nses.core.seeding import Purpose, episode_seeds
from nses.core.values import Candidates
from nses.execution.evaluator import Plan
from nses.execution.serial import Serial
from nses.experiment.build import policy_of, task_of
from nses.experiment.progress import short
from nses.experiment.run import Run
from nses.rollouts.tasks.task import Task


@dataclass(frozen=True, eq=False)
class Tested:
    """Returns, lengths and behaviors of the episodes, in order."""

    returns: NDArray[np.float64]
    lengths: NDArray[np.int64]
    behaviors: NDArray[np.float64]

    @property
    def summary(self) -> dict[str, Any]:
        """All of it as JSON takes it."""
        f = self.returns
        return {
            "mean": float(f.mean()),
            "std": float(f.std()),
            "min": float(f.min()),
            "max": float(f.max()),
            "returns": f.tolist(),
            "lengths": self.lengths.tolist(),
            "behaviors": self.behaviors.tolist(),
        }

    def __str__(self) -> str:
        f = self.returns
        return (
            f"mean return {short(f.mean())} ± {short(f.std())} over {len(f)} fresh episodes "
            f"(lowest {short(f.min())}, highest {short(f.max())}), "
            f"{self.lengths.mean():.0f} steps each"
        )


def evaluate(
    run: Run, policy: str = "best", episodes: int = 30, seed: int = 0, task: Task | None = None
) -> Tested:
    """Episodes that training has not seen: another stream of seeds, chosen by `seed`."""
    if episodes < 1:
        raise ValueError(f"episodes must be at least 1, got {episodes}.")
    theta, moments = run.parameters(policy)
    task = task or task_of(run.config)
    plan = Plan(task, policy_of(run.config, run.facts), run.config.k, native=run.config.native)
    seeds = episode_seeds(run.config.seed, seed, 0, Purpose.FRESH_EPISODES, episodes)
    with Serial(plan) as play:
        e = play(Candidates(theta, moments, seeds), archive.empty(0))
    assert e.b is not None
    return Tested(e.f, e.lengths, e.b)
