"""`python -m benchmarks fuzz`: damaged runs and odd command lines, until something breaks.

Every case follows from (seed, case) alone and runs in a process of its own, so that a hang, a crash
or a memory leak is just one more finding: `python -m benchmarks fuzz --seed S --case N` repeats it.
"""

import argparse
import gc
import itertools
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from nses.execution.cpus import ONE_THREAD

os.environ.update(ONE_THREAD)  # before NumPy: a process that forks has one thread

from benchmarks.fuzzing.base import Base, base_runs, warm_up
from benchmarks.fuzzing.case import Outcome, try_case


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser("python -m benchmarks fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="how long (60)")
    parser.add_argument("--cases", type=int, default=None, help="at most this many cases")
    parser.add_argument("--seed", type=int, default=0, help="another seed gives other cases (0)")
    parser.add_argument("--first", type=int, default=0, help="the number of the first case (0)")
    parser.add_argument("--case", type=int, default=None, help="only this case, with all details")
    given = parser.parse_args(arguments)
    if not ONE_THREAD.items() <= os.environ.items():  # NumPy has started threads: start again
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], os.environ | ONE_THREAD)
    with tempfile.TemporaryDirectory(prefix="nses-fuzz-base-") as name:
        warm_up()
        base = base_runs(Path(name))
        gc.freeze()  # shared with the processes to come
        if given.case is not None:
            return _one(base, given.seed, given.case)
        first = given.first
        last = itertools.count(first) if given.cases is None else range(first, first + given.cases)
        return _many(base, given.seed, itertools.chain(range(-12, 0), last), given.seconds)


def _one(base: Base, seed: int, case: int) -> int:
    outcome = try_case(base, seed, case)
    print(f"seed {seed}, case {case}: {outcome.what}")
    for finding in outcome.findings:
        print(f"\n{finding.kind}: {finding.where}\n{finding.detail}")
    print(f"{len(outcome.findings)} findings")
    return 1 if outcome.findings else 0


def _many(base: Base, seed: int, cases: Iterable[int], seconds: float) -> int:
    """Try cases until the time is up; negative numbers are undamaged runs."""
    begin = time.monotonic()
    kinds: Counter[str] = Counter()
    found: Counter[str] = Counter()
    for case in cases:
        if time.monotonic() - begin > seconds:
            break
        outcome = try_case(base, seed, case)
        kinds[outcome.kind] += 1
        for line in _news(outcome, found):
            print(f"seed {seed}, case {case}: {line}\n    {outcome.what[:500]}", flush=True)
    _summarise(seed, kinds, found, time.monotonic() - begin)
    return 1 if found else 0


def _news(outcome: Outcome, found: Counter[str]) -> list[str]:
    """Count the findings of a case; returns those of a new sort."""
    lines = [f"{finding.kind}: {finding.where}" for finding in outcome.findings]
    new = [line for line in dict.fromkeys(lines) if line not in found]
    found.update(lines)
    return new


def _summarise(seed: int, kinds: Counter[str], found: Counter[str], seconds: float) -> None:
    total = kinds.total()
    print("\ncases by kind:", ", ".join(f"{name} {n}" for name, n in kinds.most_common()))
    for line, count in found.most_common():
        print(f"  {count} × {line}")
    print(
        f"seed {seed}: {total} cases, {found.total()} findings of {len(found)} sorts, "
        f"{total / max(seconds, 1e-9):.1f} cases per second"
    )
