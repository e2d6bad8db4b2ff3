"""The first run on a machine, where nothing is compiled yet."""

import os
import subprocess
import sys

import pytest


@pytest.mark.slow
def test_m15_a_cold_compile_cache_does_not_count_against_the_deadline(tmp_path):
    command = [sys.executable, "-m", "nses", "train", "point-trap", "--recipe", "smoke"]
    settings = ["--generations", "1", "--workers", "1", "--deadline", "1"]
    done = subprocess.run(
        [*command, *settings, "--no-tensorboard", "--no-pictures"],
        cwd=tmp_path,
        env={
            **os.environ,
            "NUMBA_CACHE_DIR": str(tmp_path / "cache"),
            "PYTHONPATH": os.pathsep.join(sys.path),
        },
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "hung" not in done.stdout + done.stderr
    assert list((tmp_path / "cache").rglob("*.nbi"))
