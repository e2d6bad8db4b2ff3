"""Fixtures of several tests of checkpoints."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from checkpoints import CONFIG, a_state
from nses.experiment.runs.checkpoint import save


@pytest.fixture
def two(tmp_path: Path) -> Path:
    """A directory with the checkpoints of generations 1 and 2."""
    directory = tmp_path / "checkpoints"
    save(directory, a_state(1), CONFIG)
    save(directory, a_state(2), CONFIG)
    return directory


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two checkpoints, as the examples of one test leave them to each other."""
    directory = tmp_path_factory.mktemp("run") / "checkpoints"
    save(directory, a_state(1), CONFIG)
    save(directory, a_state(2), CONFIG)
    return directory


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 256 KiB."""
    path = tmp_path / "disk"
    path.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=256k", "nses-test", str(path)]
    if shutil.which("mount") is None or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("mounting a file system needs root")
    yield path
    subprocess.run(["umount", "-l", str(path)], check=True)
