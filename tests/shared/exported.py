"""Runs to export: as small as they get."""

from pathlib import Path
from typing import Any

import nses

SMALL = {"recipe": "smoke", "backend": "serial", "tensorboard": False}


def train(task: Any, path: Path, **settings: Any) -> nses.Run:
    return nses.train(task, run_dir=str(path / "run"), seed=1, **{**SMALL, **settings})
