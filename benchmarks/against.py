"""`python -m benchmarks against COMMIT`: is this tree as fast as that commit?

Trains the same tasks from both source trees in turns, on the same machine in the same minutes, and
compares the environment steps per second that the runs themselves record.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from benchmarks.foundation import Measure
from benchmarks.table import keep, line_of

ROOT = Path(__file__).parents[1]
TASKS = {  # generations that take some seconds, with settings that are the same in both trees
    "point-trap": ("--recipe", "laptop", "--n", "2000", "--generations", "60"),
    "swimmer-trap": ("--recipe", "laptop", "--n", "40", "--generations", "40"),
    "halfcheetah": (
        *("--recipe", "paper", "--hidden", "32", "32", "--members", "3"),
        *("--evaluation-episodes", "10", "--n", "40", "--generations", "15"),
    ),
    "atari:frostbite": (
        *("--recipe", "laptop", "--n", "20", "--max-steps", "500", "--generations", "6"),
    ),
}
SLOWER = 0.98  # at least so fast as the commit


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser("python -m benchmarks against", description=__doc__)
    parser.add_argument("commit", help="what to compare this tree with")
    parser.add_argument("--rounds", type=int, default=7, help="of both trees (7)")
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS))
    given = parser.parse_args(arguments)
    rows = []
    with checked_out(given.commit) as before:
        for task in given.tasks:
            rows.append(line_of(compared(task, before, given.rounds), f"against {given.commit}"))
            print(rows[-1], flush=True)
    keep("against", rows)
    return 0


@contextmanager
def checked_out(commit: str) -> Iterator[Path]:
    """The source of a commit, in a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="nses-against-") as name:
        archive = subprocess.run(
            ["git", "archive", commit, "src"], cwd=ROOT, check=True, stdout=subprocess.PIPE
        )
        subprocess.run(["tar", "-x", "-C", name], input=archive.stdout, check=True)
        yield Path(name) / "src"


def compared(task: str, before: Path, rounds: int) -> Measure:
    """The median ratio of neighbouring runs; the order alternates, so that no tree comes first."""
    trees = {"before": before, "after": ROOT / "src"}
    ratios, rates = [], []
    for tree in trees.values():
        steps_per_second(task, tree)  # compiles
    for i in range(rounds):
        order = list(trees) if i % 2 == 0 else list(trees)[::-1]
        rate = {name: steps_per_second(task, trees[name]) for name in order}
        ratios.append(rate["after"] / rate["before"])
        rates.append(rate["after"])
    ratio = float(np.median(ratios))
    low, high = np.quantile(ratios, [0.25, 0.75])
    what = f"{task}, {np.median(rates):,.0f} steps/s, quartiles {low:.3f} and {high:.3f}"
    return Measure(what, ratio, "×", f"≥ {SLOWER}", ratio >= SLOWER)


def steps_per_second(task: str, source: Path) -> float:
    """The speed of a whole run, not counting its first generation."""
    with tempfile.TemporaryDirectory(prefix="nses-against-run-") as name:
        words = ["train", task, "--algorithm", "nsra-es", "--no-pictures"]
        subprocess.run(
            [sys.executable, "-m", "nses", *words, *TASKS[task], "--run-dir", f"{name}/run"],
            env={**os.environ, "PYTHONPATH": str(source)},
            cwd=name,
            check=True,
            capture_output=True,
        )
        lines = (Path(name) / "run" / "metrics.jsonl").read_text().splitlines()
    records = [json.loads(line) for line in lines]
    first, last = records[0], records[-1]
    return (last["env_steps"] - first["env_steps"]) / (last["seconds"] - first["seconds"])
