"""`python -m benchmarks instructions [CASE...]`: what a training step costs, in instructions.

Counted by Valgrind, where a busy machine changes nothing: for every environment step, how many
instructions the simulator needs, and how many everything around it. A generation is played in one
process. It tells nothing of memory and of vectors wider than 256 bits, which Valgrind lacks.
"""

import argparse
import ctypes
import mmap
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.bodies import config_of
from benchmarks.foundation import Measure
from benchmarks.table import HEAD, keep, line_of
from nses.experiment.settings.build import search_of
from nses.experiment.settings.config import Config
from nses.rollouts.tasks.catalog import make_task

PLAYING = "--play"  # in the process that is counted


@dataclass(frozen=True)
class Case:
    """A generation to count, and how many instructions it may need to one of the simulator."""

    config: Config
    simulator: str  # in the name of its library
    most: float


def body(task: str, n: int, *hidden: int, most: float) -> Case:
    config = replace(config_of(task, n, hidden), backend="serial", evaluation_episodes=2)
    return Case(config, "libmujoco", most)


CASES: dict[str, Callable[[], Case]] = {
    "humanoid-linear": lambda: body("humanoid", 40, most=1.05),
    "humanoid-64-64": lambda: body("humanoid", 40, 64, 64, most=1.05),
    "humanoid-256-256": lambda: body("humanoid", 40, 256, 256, most=1.10),
    "halfcheetah-64-64": lambda: body("halfcheetah", 4, 64, 64, most=1.10),
    "halfcheetah-256-256": lambda: body("halfcheetah", 4, 256, 256, most=1.30),
}


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser("python -m benchmarks instructions", description=__doc__)
    parser.add_argument("cases", nargs="*", help=f"of {', '.join(CASES)} (all)")
    parser.add_argument(PLAYING, action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.play:
        play(CASES[given.cases[0]]().config)
        return 0
    rows = []
    print("\n".join(HEAD))
    for name in given.cases or CASES:
        rows.append(line_of(measured(name), f"instructions {name}"))
        print(rows[-1], flush=True)
    keep("instructions", rows)
    return 0


def play(config: Config) -> None:
    """Counts one generation, and says how many steps it had."""
    request = client_request()
    with search_of(config, make_task(config.task)) as search:
        state, _ = search.step(search.init())  # compiles
        request("zero")
        request("start")
        after, _ = search.step(state)
        request("stop")
    print("steps", after.env_steps - state.env_steps)


def measured(name: str) -> Measure:
    case = CASES[name]()
    with tempfile.TemporaryDirectory(prefix="nses-instructions-") as folder:
        counts = Path(folder) / "counts"
        options = ["--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={counts}"]
        words = [sys.executable, "-m", "benchmarks.instructions", PLAYING, name]
        done = subprocess.run(
            ["valgrind", "-q", *options, *words],
            env={**os.environ, "PYTHONHASHSEED": "0"},
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        )
        each = by_library(counts.read_text().splitlines())
    steps = int(done.stdout.split()[-1])
    simulator = sum(each[library] for library in each if case.simulator in library)
    compiled = each["???"]
    rest = each.total() - simulator - compiled
    ratio = each.total() / simulator
    return Measure(
        f"{name}, {steps:,} steps: instructions to those of the simulator (per step: simulator "
        f"{simulator / steps:,.0f}, compiled {compiled / steps:,.0f}, rest {rest / steps:,.0f})",
        ratio, "×", f"≤ {case.most:.2f}", ratio <= case.most,
    )  # fmt: skip


def by_library(lines: Iterable[str]) -> Counter[str]:
    """The instructions of each library in a file of Callgrind, by its path; ??? is compiled here.

    The cost of a call stands in the line after it, and is counted where it was spent.
    """
    names: dict[str, str] = {}
    counts: Counter[str] = Counter()
    library, called = "", False
    for line in lines:
        if found := re.fullmatch(r"c?ob=(\(\d+\))(?: (.*))?", line):
            key, name = found.groups()
            names.setdefault(key, name)
            library = library if line.startswith("c") else names[key]
        elif line.startswith("calls="):
            called = True
        elif re.match(r"[+\-*\d]", line):
            if not called:
                counts[library] += int(line.split()[1])
            called = False
    return counts


def client_request() -> Callable[[str], None]:
    """Asks Callgrind for something; does nothing outside Valgrind.

    Valgrind understands a sequence of instructions that has no effect on a processor.
    """
    memory = mmap.mmap(-1, len(REQUEST), prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    memory.write(REQUEST)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    call = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(address)
    codes = {"zero": 1, "start": 4, "stop": 5}

    def ask(what: str, memory: mmap.mmap = memory) -> None:  # which holds what is called
        request = (ctypes.c_uint64 * 6)(0x43540000 + codes[what])
        call(ctypes.addressof(request))

    return ask


REQUEST = bytes.fromhex(
    "4889f8"  # mov rax, rdi: the address of the request
    "31d2"  # xor edx, edx
    "48c1c703 48c1c70d 48c1c73d 48c1c733"  # rol rdi, by 3, 13, 61 and 51
    "4887db"  # xchg rbx, rbx
    "4889d0 c3"  # mov rax, rdx; ret
)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
