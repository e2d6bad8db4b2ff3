"""Runs of which there is only what a comparison reads: settings, metrics, and a tested policy."""

import json
from pathlib import Path

import numpy as np
from gymnasium import spaces

from nses.core.moments import initial
from nses.core.values import Best
from nses.experiment import checkpoint
from nses.experiment.config import changed
from nses.experiment.recipes import recipe
from nses.experiment.run import BEST, Run, load, write_config
from nses.rollouts.tasks.task import Facts

BOX = spaces.Box(-1.0, 1.0, (6,))


def make_run(
    path: Path,
    scores,
    *,
    task="point-trap",
    algorithm="es",
    seed=0,
    generations=None,
    retest=None,
    behaviors=None,
    pace=1.0,
    **settings,
) -> Run:
    """A run whose updated members scored so; it has ended if there is a re-test."""
    path.mkdir(parents=True)
    total = generations or max(1, len(scores))
    config = changed(
        recipe(task, "laptop", algorithm), {"seed": seed, "generations": total, **settings}
    )
    write_config(path, config, Facts(BOX, BOX, 0 if behaviors is False else 2), own_task=False)
    best = np.maximum.accumulate(np.array(scores, np.float64)) if len(scores) else []
    with (path / "metrics.jsonl").open("w") as file:
        for t, score in enumerate(scores, start=1):
            record = {
                "generation": t,
                "member": t % config.members,
                "score": float(score),
                "best": float(best[t - 1]),
                "return_mean": float(score) - 1.0,
                "return_best": float(score) + 1.0,
                "weight": 0.5,
                "novelty_mean": 1.0 / t,
                "archive_size": config.members + t,
                "episodes": 100 * t,
                "env_steps": int(1000 * t * pace),
                "seconds": 3.6 * t * pace,
                "steps_per_second": 1000.0,
                "behavior": [] if behaviors is False else [float(t), float(seed)],
                "selection": [1.0 / config.members] * config.members,
            }
            if behaviors:
                record["behavior"] = list(behaviors[t - 1])
            file.write(json.dumps(record) + "\n")
    if retest is not None:
        theta = np.zeros(3, np.float32)
        policy = Best(theta, initial(6), np.zeros(2), float(best[-1]), len(scores), 0)
        checkpoint.save_best(path / BEST, policy, {"retest": json.dumps(list(retest))})
    return load(path)
