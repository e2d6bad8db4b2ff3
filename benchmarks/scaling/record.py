"""`python -m benchmarks.scaling.record`: what the simulation starts from, into measured.json.

Lengths of episodes, seconds per step, and the coordinator's work per generation. Seconds are CPU
time of this process, because others may use the machine; for files they are wall-clock time.
"""

import json
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from nses.core import archive, noise
from nses.core.algorithms import Search, ascend, objective
from nses.core.archive import Archive
from nses.core.values import Candidates, Evaluation, Report, State
from nses.experiment.runs import checkpoint
from nses.experiment.runs.document import current_versions
from nses.experiment.runs.events import TensorBoard
from nses.experiment.runs.history import HISTORY, line_of
from nses.experiment.runs.log import METRICS, GenerationLog, record_of
from nses.experiment.settings.build import search_of
from nses.experiment.settings.recipes import recipe
from nses.rollouts.tasks.catalog import make_task

FILE = Path(__file__).with_name("measured.json")
REPEATED = 2
EPISODES = {"humanoid": 200, "atari:frostbite": 12}


def main() -> None:
    document: dict[str, Any] = {
        "what": "untrained policies of the paper's recipe, perturbed; one process",
        "command": "python -m benchmarks.scaling.record",
        "date": date.today().isoformat(),
        "versions": current_versions(),
    }
    for task, episodes in EPISODES.items():
        document[task] = measured(task, episodes)
        print(task, {k: v for k, v in document[task].items() if k != "lengths"}, flush=True)
    FILE.write_text(json.dumps(document) + "\n")


def measured(task: str, episodes: int) -> dict[str, Any]:
    config = replace(
        recipe(task, "paper", "nsra-es"), backend="serial", evaluation_episodes=1, members=1
    )
    with search_of(config, make_task(task)) as search:
        state = search.init()  # compiles what is not yet
        h = replace(search.hyperparameters, n=episodes)
        candidates = replace(search, hyperparameters=h).perturb(state.members[0], 0)
        seconds, played = timed(lambda: search.evaluate(candidates, archive.empty(0)))
        return {
            "lengths": sorted(played.lengths.tolist()),
            "seconds_per_step": seconds / int(played.lengths.sum()),
            "parameters": int(candidates.theta.size),
            **coordination(search, played),
        }


def coordination(search: Search, played: Evaluation) -> dict[str, float]:
    """Seconds of a generation of full size without its episodes."""

    def evaluate(candidates: Candidates, A: Archive) -> Evaluation:
        if candidates.epsilon is None:  # an evaluation, whose behavior is asked for
            return search.evaluate(candidates, A)
        some = np.arange(len(candidates)) % len(played.f)
        f, N, lengths = (x[some] for x in (played.f, played.N, played.lengths))
        return replace(played, f=f, N=N, lengths=lengths, b=None)

    playing = replace(search, evaluate=evaluate)
    state = search.init()
    member = state.members[0]
    candidates = search.perturb(member, 0)
    e = evaluate(candidates, state.archive)
    assert candidates.epsilon is not None
    epsilon: noise.Epsilon = candidates.epsilon
    F = objective(search.algorithm, e.f, e.N, 0.5, ordinal=False)
    g = epsilon.weighted_sum(F, 1)  # compiles
    gradient, _ = timed(lambda: epsilon.weighted_sum(F, 1), REPEATED)
    update = sum(
        timed(act, REPEATED)[0]
        for act in (
            lambda: objective(search.algorithm, e.f, e.N, 0.5, ordinal=False),
            lambda: ascend(member, g, search.hyperparameters),
            lambda: search.perturb(member, 0),
        )
    )
    return {"gradient": gradient, "update": update, **writing(*playing.step(state))}


def writing(state: State, report: Report) -> dict[str, float]:
    """Seconds for the files of a generation."""
    with tempfile.TemporaryDirectory(dir=".") as name:
        folder = Path(name)
        (folder / "checkpoints").mkdir()
        events = TensorBoard(folder, 0)
        with (
            GenerationLog(folder / METRICS, 0) as metrics,
            GenerationLog(folder / HISTORY, 0) as history,
        ):

            def write() -> None:
                record = record_of(report, 0.0, 1.0, 1)
                metrics.write(record)
                history.write(line_of(report))
                events.write(record)

            write()
            logs, _ = timed(write, REPEATED, time.perf_counter)
        events.close()
        saving, _ = timed(
            lambda: checkpoint.save(folder / "checkpoints", state, {}), 1, time.perf_counter
        )
    return {"logs": logs, "checkpoint": saving}


def timed(
    act: Callable[[], Any], times: int = 1, clock: Callable[[], float] = time.process_time
) -> tuple[float, Any]:
    """The least of several times, and the last result."""
    seconds, result = [], None
    for _ in range(times):
        before = clock()
        result = act()
        seconds.append(clock() - before)
    return min(seconds), result


if __name__ == "__main__":
    main()
