"""Commands of ours, run as programs that end by themselves."""

import os
import subprocess
import sys
from pathlib import Path


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
