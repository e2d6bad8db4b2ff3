"""Commands of ours, called, or run as programs that end by themselves."""

import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

from nses.cli import main

PLAIN = ["--backend", "serial", "--no-tensorboard", "--no-pictures"]
SMOKE = ["--recipe", "smoke", *PLAIN, "--seed", "1"]


# All commands in one process; it ends with the first exit code that is not 0.
IN_ONE_PROCESS = """
import shlex, sys
from nses.cli import main

sys.exit(next(filter(None, (main(shlex.split(line)) for line in sys.argv[1:])), 0))
"""


def nses_command(directory: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """`nses WORDS` in a directory, with the modules that this process finds."""
    return _run(directory, "-m", "nses", *words)


def nses_commands(directory: Path, *lines: list[str]) -> subprocess.CompletedProcess[str]:
    """`nses WORDS` for each list of words, one after the other in a single process."""
    return _run(directory, "-c", IN_ONE_PROCESS, *map(shlex.join, lines))


def _run(directory: Path, *program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *program],
        cwd=directory,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=120,
    )


def call(capsys: Any, *arguments: str) -> tuple[Any, str, str]:
    """Exit code, standard output and standard error of a command."""
    try:
        code = main([*arguments])
    except SystemExit as stop:
        code = stop.code
    out, err = capsys.readouterr()
    return code, out, err
