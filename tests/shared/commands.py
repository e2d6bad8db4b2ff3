"""Commands of ours, called, or run as programs that end by themselves."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from nses.cli import main

PLAIN = ["--backend", "serial", "--no-tensorboard", "--no-pictures"]
SMOKE = ["--recipe", "smoke", *PLAIN, "--seed", "1"]


def nses_command(directory: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """`nses WORDS` in a directory, with the modules that this process finds."""
    return subprocess.run(
        [sys.executable, "-m", "nses", *words],
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
