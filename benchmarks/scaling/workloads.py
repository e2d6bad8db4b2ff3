"""What is replayed: work of the paper's size, from measured.json and from what was assumed."""

import json
from typing import Any

import numpy as np

from benchmarks.scaling.record import FILE
from nses.core.values import Floats
from nses.experiment.analysis.machines import Work
from nses.experiment.settings.memory import STATE
from nses.experiment.settings.recipes import recipe

STEPS = 400  # points of an assumed distribution


def assumed(longest: float, mean: float) -> Floats:
    """Some episodes last to the limit; the others end at any time before it, equally likely."""
    share = 2 * mean / longest - 1
    quantiles = (np.arange(STEPS) + 0.5) / STEPS
    return longest * np.minimum(1.0, quantiles / (1 - share))


def workloads() -> dict[str, Work]:
    """Workloads by name; the times of the trained ones were measured with a prototype."""
    measured: dict[str, Any] = json.loads(FILE.read_text())

    def of(task: str, seconds: Floats | None = None) -> Work:
        m, config = measured[task], recipe(task, "paper", "nsra-es")
        played = np.array(m["lengths"]) * m["seconds_per_step"] if seconds is None else seconds
        steps = float(np.mean(played)) / m["seconds_per_step"]
        return Work(
            seconds=played,
            n=config.n,
            evaluation_episodes=config.evaluation_episodes,
            members=config.members,
            parameters=m["parameters"],
            gradient=m["gradient"],
            update=m["update"],
            logs=m["logs"],
            checkpoint=m["checkpoint"],
            entry=int(STATE * steps) if task.startswith("atari:") else 16,
        )

    return {
        "humanoid, trained": of("humanoid", assumed(0.30, 0.26)),
        "humanoid, untrained": of("humanoid"),
        "Atari, long episodes": of("atari:frostbite", assumed(4.9, 2.72)),
        "frostbite, untrained": of("atari:frostbite"),
    }
