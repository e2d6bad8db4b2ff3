"""The cost of logging a run, of comparing many runs, and of showing them."""

import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

import nses
from benchmarks.foundation import Measure
from nses.core.algorithms import ALGORITHMS
from nses.experiment.analysis.live import Watcher
from nses.experiment.runs import journal
from nses.experiment.runs.history import HISTORY
from nses.experiment.runs.log import GenerationLog
from nses.experiment.runs.run import REPORT

RUNS, GENERATIONS = 10, 800  # of each algorithm


@contextmanager
def forty_runs() -> Iterator[Path]:
    """Four small runs of 800 generations, and nine copies of each under other seeds."""
    with tempfile.TemporaryDirectory(dir=".") as name:
        for algorithm in ALGORITHMS:
            home = Path(name) / algorithm
            run = nses.train(
                "point-trap",
                algorithm=algorithm,
                generations=GENERATIONS,
                n=10,
                backend="serial",
                run_dir=home / "seed-0",
                keep_every=GENERATIONS,
            )
            for seed in range(1, RUNS):
                copy = home / f"seed-{seed}"
                shutil.copytree(run.path, copy)
                document = json.loads((copy / "config.json").read_text())
                document["config"]["seed"] = seed
                (copy / "config.json").write_text(json.dumps(document))
        yield Path(name)


def history() -> Iterator[Measure]:
    """The time for the log of returns and novelties, as a share of training."""
    spent = 0.0
    plain = GenerationLog.write

    def timed(self: GenerationLog, record: dict[str, object]) -> None:
        nonlocal spent
        before = time.perf_counter()
        plain(self, record)
        if self.path.name == HISTORY:
            spent += time.perf_counter() - before

    def timed_line(report: object) -> object:
        nonlocal spent
        before = time.perf_counter()
        line = line_of(report)
        spent += time.perf_counter() - before
        return line

    line_of: Callable[..., object] = journal.line_of
    for task, generations in (("point-trap", 200), ("swimmer-trap", 20)):
        spent = 0.0
        with tempfile.TemporaryDirectory(dir=".") as name:
            home = Path(name) / "r"
            GenerationLog.write, journal.line_of = timed, timed_line  # type: ignore[assignment]
            try:
                run = nses.train(
                    task, seed=1, generations=generations, backend="serial", run_dir=home
                )
            finally:
                GenerationLog.write, journal.line_of = plain, line_of  # type: ignore[assignment]
            share = 100 * spent / run.metrics[-1]["seconds"]
        what = f"log of f and N, share of a generation, {task} laptop, serial"
        yield Measure(what, share, "%", "< 1", share < 1)


def comparison() -> Iterator[Measure]:
    """The whole command in a separate process, including imports and pictures."""
    with forty_runs() as directory:
        before = time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "nses", "compare", str(directory)],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        seconds = time.perf_counter() - before
        what = "nses compare, 40 runs of 800 generations"
        yield Measure(what, seconds, "s", "< 10", seconds < 10)
        size = (directory / REPORT).stat().st_size / 1e6
        yield Measure("its report.html", size, "MB", "< 8", size < 8)


def dashboard() -> Iterator[Measure]:
    """The server's time for one update when every run has a new generation."""
    from nses.experiment.showing.dashboard import dashboard as app_of

    with forty_runs() as directory:
        for config in directory.glob("*/seed-*/config.json"):  # none of them has ended
            document = json.loads(config.read_text())
            document["config"]["generations"] = 2 * GENERATIONS
            config.write_text(json.dumps(document))
        watcher = Watcher([directory])
        app = app_of(watcher, 2.0)
        client = app.server.test_client()
        client.get("/_dash-layout")
        callbacks = client.get("/_dash-dependencies").get_json()
        main = next(c for c in callbacks if "runs.children" in c["output"])
        names = [name.split(".") for name in main["output"].strip(".").split("...")]
        run = watcher.look().runs[0].name
        values = {"clock": 1, "run": run, "axis": "generation", "seen": "", "until": 2}
        seconds = []
        for _ in range(6):
            for metrics in directory.glob("*/seed-*/metrics.jsonl"):
                _add_a_generation(metrics)
            body = {
                "output": main["output"],
                "outputs": [{"id": name, "property": what} for name, what in names],
                "inputs": [x | {"value": values[x["id"]]} for x in main["inputs"]],
                "state": [x | {"value": values[x["id"]]} for x in main["state"]],
                "changedPropIds": ["clock.n_intervals"],
            }
            before = time.perf_counter()
            answer = client.post("/_dash-update-component", json=body)
            seconds.append(time.perf_counter() - before)
            assert answer.status_code == 200, answer.data[:500]
            assert len(answer.data) > 10_000, "nothing was drawn"
        update = float(np.median(seconds[1:]))
        what = "update of the dashboard, 40 runs of 800 generations, all of them changed"
        yield Measure(what, update, "s", "< 0.5", update < 0.5)


def _add_a_generation(metrics: Path) -> None:
    record = json.loads(metrics.read_text().splitlines()[-1])
    record["generation"] += 1
    with metrics.open("a") as file:
        file.write(json.dumps(record) + "\n")


MEASURES: dict[str, Callable[[], Iterator[Measure]]] = {
    "history": history,
    "comparison": comparison,
    "dashboard": dashboard,
}
