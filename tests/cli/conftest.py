"""Fixtures of several tests of commands."""

import pytest

from commands import SMOKE, call


@pytest.fixture
def own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def run_dir(capsys, own_folder):
    """Where `nses train` has put a short run."""
    assert call(capsys, "train", "point-trap", *SMOKE)[0] == 0
    return "runs/point-trap/nsra-es/seed-1"
