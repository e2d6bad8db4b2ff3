"""Play fresh episodes with a trained policy."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nses.core import archive
from nses.core.archive import Characterization
from nses.core.seeding import Purpose, episode_seeds
from nses.core.traces import is_trace
from nses.core.values import Candidates
from nses.errors import UsageError
from nses.execution.serial import Serial
from nses.experiment.runs.encoding import standard
from nses.experiment.runs.place import same_place
from nses.experiment.runs.run import Run, load
from nses.experiment.settings.build import plan_of
from nses.rollouts.tasks.task import Task
from nses.words import short


@dataclass(frozen=True, eq=False)
class Tested:
    """Returns, lengths and behaviors of the episodes, in order; if traces, only the first one."""

    returns: NDArray[np.float64]
    lengths: NDArray[np.int64]
    behaviors: Characterization

    @property
    def summary(self) -> dict[str, Any]:
        """Everything, ready for JSON."""
        f = self.returns
        return standard(
            {
                "mean": float(f.mean()),
                "std": float(f.std()),
                "min": float(f.min()),
                "max": float(f.max()),
                "returns": f.tolist(),
                "lengths": self.lengths.tolist(),
                "behaviors": [] if is_trace(self.behaviors) else self.behaviors.tolist(),
            }
        )

    def __str__(self) -> str:
        f = self.returns
        return (
            f"mean return {short(f.mean())} ± {short(f.std())} over {len(f)} fresh episodes "
            f"(lowest {short(f.min())}, highest {short(f.max())}), "
            f"{self.lengths.mean():.0f} steps on average"
        )


def evaluate(
    run: Run | str | Path,
    policy: str = "best",
    episodes: int = 30,
    seed: int = 0,
    task: Task | None = None,
) -> Tested:
    """Play episodes that training has not seen; `seed` chooses them."""
    if episodes < 1:
        raise UsageError(f"episodes must be at least 1, got {episodes}.")
    run = run if isinstance(run, Run) else load(run)
    theta, moments = run.parameters(policy)
    chosen = run.task(task)
    plan = plan_of(run.config, chosen, run.family)
    seeds = episode_seeds(run.config.seed, seed, 0, Purpose.FRESH_EPISODES, episodes)
    with same_place(), Serial(plan) as play:
        e = play(Candidates(theta, moments, seeds), archive.empty(0))
    assert e.b is not None
    return Tested(e.f, e.lengths, e.b)
