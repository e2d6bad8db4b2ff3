"""`python -m benchmarks race`: who learns to walk first, by the clock on the wall?

Our ES and NSRA-ES against EvoTorch (PGPE with ClipUp) and Stable-Baselines3's ARS: the humanoid and
the half-cheetah, one contender after the other on the same two CPUs, with two workers of one thread
each. The rivals run in an environment of their own, with the settings that they publish; ours are
those of the laptop recipe. Starting and compiling count: the clock begins when the
program is started, and ours begins without compiled code.

All are judged alike. Each saves its policy, with the normalisation of its observations, after every
generation: EvoTorch and ARS the centre of their search, ours that of its member with the highest
score. After the run, the policies that it had at regular times are played in ten episodes of
Gymnasium's own environment, with its own reward, without noise.

That environment is Humanoid-v5 or HalfCheetah-v5, and the rivals train on just that, without the 5
per step for being alive if their settings say so. We train on our own model of the same body with
the same reward: `humanoid` in the forward direction instead of the paper's any direction, where
candidates play with a faster integrator; `halfcheetah` as it is, which looks at the centre of mass
where Gymnasium looks at the torso. So we do not train on just what counts.

Finished runs are kept in docs/results/race.csv and not run again, so it can be interrupted at any
time. It ends with a table, which is kept in benchmarks/results, and docs/results/race.png.
"""

import argparse
import itertools
import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from benchmarks import rivals
from benchmarks.racing import results
from benchmarks.racing.judge import judged
from benchmarks.racing.results import ENVIRONMENTS, FILE, Row
from benchmarks.rivals.measure import SETTINGS
from benchmarks.search import REPORTING
from benchmarks.table import keep

ROOT = Path(__file__).parents[1]
CPUS = 2
POINTS = 40  # at which a run is judged
GRACE = 20.0  # seconds to end in
CONTENDERS = results.NAMES


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser("python -m benchmarks race", description=__doc__)
    parser.add_argument("--minutes", type=float, default=20.0, help="of each run (20)")
    parser.add_argument("--seeds", type=int, default=len(REPORTING), help="only the first so many")
    parser.add_argument("--tasks", nargs="+", choices=ENVIRONMENTS, default=list(ENVIRONMENTS))
    parser.add_argument("--contenders", nargs="+", choices=CONTENDERS, default=list(CONTENDERS))
    parser.add_argument("--file", type=Path, default=FILE, help="for trials: keep rows elsewhere")
    given = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # as after Ctrl-C
    rivals.install()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:CPUS])
    # Seed by seed, so that contenders that are compared run in the same hour.
    there, failed = {row.run for row in results.kept(given.file)}, 0
    for seed in REPORTING[: given.seeds]:
        for task, contender in itertools.product(given.tasks, given.contenders):
            if (contender, task, seed, given.minutes) not in there:
                try:
                    results.keep(given.file, rows_of(contender, task, seed, given.minutes))
                except RuntimeError as error:
                    print(f"{error}\nThe same command tries this run again.", flush=True)
                    failed += 1
    rows = [row for row in results.kept(given.file) if row.budget == given.minutes]
    lines = list(results.tables(rows))
    print("\n".join(lines))
    results.draw(rows, given.file.with_suffix(".png"))
    if given.file == FILE:
        command = f"`python -m benchmarks race --minutes {given.minutes:g}`; {rivals.versions()}"
        keep("race", lines, head=[command, ""])
    return int(failed > 0)


def rows_of(contender: str, task: str, seed: int, minutes: float) -> list[Row]:
    """One run, judged when it is over."""
    name = f"{contender}, {task}, seed {seed}"
    print(f"{name}: {minutes:g} minutes from {time.strftime('%H:%M')}", flush=True)
    with tempfile.TemporaryDirectory(prefix="nses-race-") as folder:
        run(contender, task, seed, Path(folder), 60 * minutes)
        ticks = [round(minutes * (i + 1) / POINTS, 4) for i in range(POINTS)]
        found = judged(Path(folder), ENVIRONMENTS[task], ticks, CPUS)
    if not found:
        raise RuntimeError(f"{name}: no generation in {minutes:g} minutes; give it more --minutes.")
    print(f"{name}: {found[-1].mean:.0f} after {found[-1].steps:,} steps", flush=True)
    return [
        Row(contender, task, seed, minutes, x.minutes, x.steps, round(x.mean, 1)) for x in found
    ]


def run(contender: str, task: str, seed: int, folder: Path, seconds: float) -> None:
    """Let a contender train, in processes of its own, until its time is up."""
    start = time.monotonic()
    if contender in rivals.RACING:
        command = rivals.program(contender, ENVIRONMENTS[task])
        own = {"PYTHONPATH": str(ROOT), **rivals.own_token(folder)}
    else:
        command = [sys.executable, "-m", "benchmarks.racing.ours", contender, task]
        path = os.pathsep.join([str(ROOT), str(ROOT / "src")])
        own = {"PYTHONPATH": path, "NUMBA_CACHE_DIR": str(folder / "compiled")}
    command += [str(seed), str(folder), repr(start), repr(seconds)]
    with (folder / "log").open("w+") as log:
        process = subprocess.Popen(
            command, cwd=folder, env=os.environ | SETTINGS | own, stdin=subprocess.DEVNULL,
            stdout=log, stderr=log, process_group=0,
        )  # fmt: skip
        try:
            process.wait(max(0.0, start + seconds - time.monotonic()))
        except subprocess.TimeoutExpired:
            return
        finally:
            end(process)
        log.seek(0)
        raise RuntimeError(f"{contender} failed on {task}:\n{log.read()[-4000:]}")


def end(process: subprocess.Popen[bytes]) -> None:
    """Ends a contender and whatever it has left behind, which would slow the next one down."""
    process.terminate()
    with suppress(subprocess.TimeoutExpired):
        process.wait(GRACE)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
