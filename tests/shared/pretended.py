"""Runs that were never trained: directories with a configuration and numbers that look like one."""

import json

import numpy as np
from gymnasium import spaces

from nses.core.moments import initial
from nses.core.values import Best
from nses.experiment.runs.checkpoint import save_best
from nses.experiment.runs.document import write_config
from nses.experiment.runs.run import load
from nses.experiment.settings.config import changed
from nses.experiment.settings.recipes import recipe
from nses.rollouts.tasks.scene import NO_SCENE
from nses.rollouts.tasks.task import Facts

BOX = spaces.Box(-1.0, 1.0, (6,))


def record(t, seed=0, members=5, dimensions=2):
    """One line of metrics.jsonl: a spiral."""
    angle = 0.05 * t + seed
    b = [float(0.05 * t * np.cos(angle)), float(0.05 * t * np.sin(angle)), *[0.5] * 8][:dimensions]
    share = np.exp(np.cos(0.1 * t + np.arange(members)))
    return {
        "generation": t,
        "member": (t * 7) % members,
        "score": float(0.05 * t * np.cos(angle)),
        "best": 0.05 * t,
        "return_mean": float(0.04 * t * np.cos(angle)),
        "return_best": 0.06 * t,
        "weight": max(0.0, 1.0 - 0.05 * (t // 20)),
        "novelty_mean": 0.01 * t,
        "archive_size": members + t,
        "episodes": 105 * t,
        "env_steps": 31500 * t,
        "failed": 0,
        "blown_up": 0,
        "gradient_norm": 40.1234567890123,
        "behavior": b,
        "selection": (share / share.sum()).tolist(),
        "restarts": 0,
        "seconds": 0.25 * t,
        "steps_per_second": 126000.0,
    }


def write_metrics(path, records):
    (path / "metrics.jsonl").write_text("".join(json.dumps(r) + "\n" for r in records))


def make_run(
    path,
    scores,
    *,
    task="point-trap",
    algorithm="es",
    seed=0,
    generations=None,
    retest=None,
    behaviors=None,
    pace=1.0,
    scale="laptop",
    starts=(),
    variations=None,
    scene=NO_SCENE,
    **settings,
):
    """A run whose updated members scored so; it has ended if there is a re-test.

    `behaviors` are where they ended, or False for traces; `scale` is the recipe.
    """
    total = generations or max(1, len(scores))
    given = {"seed": seed, "generations": total, **settings}
    config = changed(recipe(task, scale, algorithm), given)
    path.mkdir(parents=True)
    size = 0 if behaviors is False else len(behaviors[0]) if behaviors else 2
    facts = Facts(BOX, BOX, size, scene=scene)
    write_config(path, config, facts, False, starts=starts)
    best = np.maximum.accumulate(np.array([-np.inf, *scores]))[1:].tolist()
    records = []
    for t, score in enumerate(scores, start=1):
        b = [] if behaviors is False else list(behaviors[t - 1]) if behaviors else [t, seed]
        records.append(
            record(t, seed, config.members)
            | {"score": float(score), "best": best[t - 1], "return_mean": float(score) - 1}
            | {"env_steps": int(1000 * t * pace), "seconds": 3.6 * t * pace, "behavior": b}
        )
    write_metrics(path, records)
    if retest is not None:
        _test(path, best[-1], total, list(retest), variations)
    return load(path)


def _test(path, score, generation, retest, variations=None):
    best = Best(np.zeros(3, np.float32), initial(6), np.zeros(2), score, generation, 0)
    extra = {"retest": json.dumps(retest), "generation": str(generation)}
    extra |= {"variations": json.dumps(variations)} if variations else {}
    save_best(path / "best.safetensors", best, extra)


def pretend(
    path, *, generation=20, total=None, algorithm="nsra-es", seed=0, task="point-trap", behavior=2
):
    """A run of `total` generations that got to `generation`; tested if that is all of them."""
    total = generation if total is None else total
    config = changed(
        recipe("point-trap", "laptop", algorithm),
        {"task": task, "generations": total, "seed": seed},
    )
    path.mkdir(parents=True)
    write_config(path, config, Facts(BOX, BOX, behavior), False)
    records = [record(t, seed, config.members, behavior) for t in range(1, generation + 1)]
    write_metrics(path, records)
    if generation == total and records:
        _test(path, records[-1]["best"], total, [1.0, 2.0, 3.0])
    return load(path)
