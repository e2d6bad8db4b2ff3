"""Tries mutants in a copy of the project. As a program, it runs the tests there, in forks.

Starting Python, NumPy and Numba takes longer than most tests of `core`, so that happens only once:
each line of input is a list of arguments for pytest, each line of output its exit code.
"""

import importlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
CORE = Path("src/nses/core")
COPIED = ("src", "tests", "examples", "benchmarks", "pyproject.toml")
ORACLES = ("tests/core", "tests/test_authors_numbers.py")
ALONE = ("compiled.py", "moments.py")  # constants of these are compiled into other files
LONGEST = 200.0  # seconds of a mutant's tests; one that hangs is noticed, too
PRELOADED = (
    "gymnasium", "numba", "numpy", "psutil", "pytest", "scipy.spatial",
    "scipy.stats",
)  # fmt: skip
OVERDUE = 99


def rounds(file: str) -> Iterator[list[str]]:
    """What to give to pytest: the tests of one file of `core`, if it has any, then the rest."""
    twin = f"tests/core/test_{file}"
    if (ROOT / twin).exists():
        yield [twin]
    others = [*ORACLES, f"--deselect={twin}"]
    if file != "compiled.py":  # slow, and about that file only
        others.append("--deselect=tests/core/test_compiled.py")
    yield others


class Trial:
    """A copy of the project in which one mutant at a time is tried."""

    def __init__(self, place: Path, cache: Path):
        self.place = place
        for name in COPIED:
            source = ROOT / name
            copy = shutil.copytree if source.is_dir() else shutil.copy2
            copy(source, place / name)
        for folder in [*place.rglob("__pycache__")]:
            shutil.rmtree(folder)
        self.program: Any = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.trial"],
            cwd=place,
            env={
                **os.environ,
                "PYTHONPATH": str(place / "src"),
                "PYTHONDONTWRITEBYTECODE": "1",  # files change within a second and keep their size
                "NUMBA_CACHE_DIR": str(cache),
            },
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        if self.code([*ORACLES], share=False):
            raise SystemExit("the tests fail without any mutant: mend them first.")

    def noticed(self, file: str, text: str) -> int:
        """The exit code of the tests that notice that a file of `core` has this text, else 0."""
        path = self.place / CORE / file
        kept = path.with_suffix(".kept")
        shutil.copy2(path, kept)
        try:
            path.write_text(text)
            codes = (self.code(tests, file not in ALONE) for tests in rounds(file))
            return next(filter(None, codes), 0)
        finally:
            kept.replace(path)  # with its time: what was compiled from it is valid again

    def code(self, tests: list[str], share: bool) -> int:
        self.program.stdin.write(json.dumps([share, tests]) + "\n")
        self.program.stdin.flush()
        return int(self.program.stdout.readline())

    def close(self) -> None:
        self.program.stdin.close()
        self.program.wait()


def main() -> None:
    for name in PRELOADED:
        importlib.import_module(name)
    for line in sys.stdin:
        share, tests = json.loads(line)
        child = os.fork()
        if not child:
            os._exit(tested(share, tests))
        print(waited(child), flush=True)


def tested(share: bool, tests: list[str]) -> int:
    """The exit code of pytest, in a process of its own."""
    os.setsid()
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    warm(share)
    import pytest

    return int(pytest.main(["-x", "-q", "-n", "0", "-p", "no:cacheprovider", *tests]))


def warm(share: bool) -> None:
    """Spares compiling again what the mutant does not touch. Numba itself sees edited files."""
    try:
        from nses.core.compiled import key  # which makes its directory

        own = Path(os.environ["NUMBA_CACHE_DIR"]) / "nses" / "compiled" / key()
        first = own.with_name("first")
        if not first.exists():
            own.rename(first)
        elif not share or own.is_symlink():
            return
        else:
            own.rmdir()
        own.symlink_to(first.name)
    except Exception:  # a mutant that cannot be imported, which the tests will notice
        return


def waited(child: int) -> int:
    """The exit code, OVERDUE if it takes too long."""
    end = time.monotonic() + LONGEST
    while time.monotonic() < end:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return OVERDUE


if __name__ == "__main__":
    main()
