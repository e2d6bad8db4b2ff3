"""`python -m benchmarks golden COMMIT`: does this tree give the bits of that commit?

Trains every task with every algorithm from both source trees. Then this tree loads the runs of the
commit, compares all that a run promises to repeat, replays a candidate, and resumes both. It exits
with 1 if anything differs.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from itertools import product
from pathlib import Path

import nses
from benchmarks.against import ROOT, checked_out
from benchmarks.evidence import differences, evidence
from benchmarks.table import keep

SHORT = ("--recipe", "smoke", "--seed", "1", "--no-pictures", "--no-tensorboard")
ATARI = ("--n", "4", "--max-steps", "60", "--reference", "8", "--evaluation-episodes", "2")
TASKS: dict[str, tuple[str, ...]] = {
    "point-trap": (),
    "swimmer-trap": ("--n", "8"),
    "humanoid": ("--n", "16"),
    "humanoid-trap": ("--n", "16"),
    "ant-trap": ("--n", "8"),
    "halfcheetah": ("--n", "8"),
    "atari:freeway": ATARI,
    "atari:frostbite": ATARI,
    "CartPole-v1": ("--behavior", "final-observation:0"),
    "MountainCarContinuous-v0": ("--behavior", "final-observation:0"),
}
HEAD = ["| task | algorithm | trained | resumed | replayed |", "|---|---|---|---|---|"]
SAME = ["equal", "equal", "same bits |"]
T = 2  # generations, and one more when resumed

# The command line, again and again in one process. A listing of commands comes in, exit codes go.
CHILD = """
import json, sys
from nses.cli import main
for words in json.load(sys.stdin):
    try:
        code = main(words)
    except SystemExit as error:
        code = error.code
    print("code", code or 0, flush=True)
"""


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser("python -m benchmarks golden", description=__doc__)
    parser.add_argument("commit", help="whose bits are expected")
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument(
        "--without", nargs="+", default=[], help="fields of the metrics whose meaning has changed"
    )
    given = parser.parse_args(arguments)
    runs = list(product(given.tasks, nses.ALGORITHMS))
    with checked_out(given.commit) as before, tempfile.TemporaryDirectory() as name:
        old, new = Path(name) / "before", Path(name) / "after"
        follow(before, [training_of(old, *run) for run in runs], old)
        follow(ROOT / "src", [training_of(new, *run) for run in runs], new)
        trained = [compared(old, new, given.without, *run) for run in runs]
        homes = [home(place, *run) for place in (old, new) for run in runs]
        replays = [["replay", str(h), "--generation", "2", "--candidate", "3"] for h in homes]
        replayed = follow(ROOT / "src", replays, Path(name))
        resuming = [["resume", str(h), "--generations", str(T + 1)] for h in homes]
        follow(ROOT / "src", resuming, Path(name))
        resumed = [compared(old, new, given.without, *run) for run in runs]
    rows = []
    for i, (task, algorithm) in enumerate(runs):
        same = "same bits" if replayed[i] == replayed[len(runs) + i] == 0 else "NO"
        rows.append(f"| {task} | {algorithm} | {trained[i]} | {resumed[i]} | {same} |")
    print("\n".join([*HEAD, *rows]))
    command = f"`python -m benchmarks golden {' '.join(arguments)}`"
    keep("golden", rows, [command, "", *HEAD])
    return int(any(row.split(" | ")[2:] != SAME for row in rows))


def home(place: Path, task: str, algorithm: str) -> Path:
    return place / task.replace(":", "-") / algorithm


def training_of(place: Path, task: str, algorithm: str) -> list[str]:
    words = [*SHORT, "--generations", str(T), *TASKS[task], "--algorithm", algorithm]
    return ["train", task, *words, "--run-dir", str(home(place, task, algorithm))]


def follow(tree: Path, commands: list[list[str]], place: Path) -> list[int]:
    """The exit codes of these commands, with this source tree."""
    place.mkdir(exist_ok=True)
    done = subprocess.run(
        [sys.executable, "-c", CHILD],
        input=json.dumps(commands),
        env={**os.environ, "PYTHONPATH": str(tree)},
        cwd=place,
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    lines = done.stdout.splitlines()
    return [int(line.split()[1]) for line in lines if line.startswith("code ")]


def compared(before: Path, after: Path, without: list[str], task: str, algorithm: str) -> str:
    """Equal, or what differs. Lines of the history may have another form; replays read them."""
    one, other = (evidence(home(place, task, algorithm), without) for place in (before, after))
    found = [what for what in differences(other, one) if not what.startswith("history")]
    return ", ".join(found) or "equal"
