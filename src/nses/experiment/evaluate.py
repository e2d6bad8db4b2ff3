"""Play fresh episodes with a trained policy, or all that there are."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nses.core import archive
from nses.core.archive import Characterization
from nses.core.seeding import Purpose, check_fresh, evaluation_seeds, is_exact
from nses.core.traces import is_trace
from nses.core.values import Candidates
from nses.execution.serial import Serial
from nses.experiment.runs.encoding import standard
from nses.experiment.runs.place import same_place
from nses.experiment.runs.run import Run, load
from nses.experiment.settings.build import plan_of, task_of
from nses.experiment.settings.config import changed
from nses.rollouts.tasks.own import Brought
from nses.rollouts.tasks.task import Task
from nses.words import short


@dataclass(frozen=True, eq=False)
class Tested:
    """Returns, lengths and behaviors of the episodes, in order; if traces, only the first one."""

    returns: NDArray[np.float64]
    lengths: NDArray[np.int64]
    behaviors: Characterization
    exact: bool = False  # whether they are all that there are, each start once

    def __repr__(self) -> str:
        return f"<{self}>"

    @property
    def summary(self) -> dict[str, Any]:
        """Everything, ready for JSON."""
        f = self.returns
        return standard(
            {
                "episodes": len(f),
                "exact": self.exact,
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
        over = f"over {len(f)} fresh episodes"
        if self.exact:
            over = f"over all {len(f)} starts of an episode, so it is exact"
        return (
            f"mean return {short(f.mean())} ± {short(f.std())} {over} "
            f"(lowest {short(f.min())}, highest {short(f.max())}), "
            f"{self.lengths.mean():.0f} steps on average"
        )


def evaluate(
    run: Run | str | Path,
    policy: str = "best",
    episodes: int = 30,
    seed: int = 0,
    task: Brought | None = None,
    environment: Mapping[str, Any] | None = None,
) -> Tested:
    """Play episodes that training has not seen; `seed` chooses them.

    If a task has finitely many starts and `episodes` are enough, each start is played once instead,
    whatever the seed. `environment` changes arguments of the environment.
    """
    check_fresh(episodes, seed)
    run = run if isinstance(run, Run) else load(run)
    theta, moments = run.parameters(policy)
    chosen = run.task(task) if environment is None else _changed(run, task, environment)
    plan = plan_of(run.config, chosen, run.family)
    seeds = evaluation_seeds(
        run.config.seed, seed, 0, Purpose.FRESH_EPISODES, episodes, chosen.starts
    )
    with same_place(), Serial(plan) as play:
        e = play(Candidates(theta, moments, seeds), archive.empty(0))
    assert e.b is not None
    return Tested(e.f, e.lengths, e.b, is_exact(episodes, chosen.starts))


def _changed(run: Run, task: Brought | None, arguments: Mapping[str, Any]) -> Task:
    """The task of a run with other arguments of its environment."""
    own = run.own(task)
    both = {**run.config.environment_arguments, **arguments}
    return task_of(changed(run.config, {"environment": both}), own)
