"""The working directory, which environments may change."""

import os
from pathlib import Path

import pytest

from nses.experiment.runs.place import absolute, same_place
from nses.experiment.runs.storage import StorageFailed


def test_the_working_directory_is_the_same_afterwards_even_if_it_was_renamed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    with same_place():
        os.chdir("/")
        here.rename(tmp_path / "there")
    assert Path.cwd() == tmp_path / "there"


def test_a_path_is_absolute_and_its_links_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert absolute(Path("link/run")) == tmp_path / "link" / "run"


def test_a_working_directory_that_is_gone_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with pytest.raises(StorageFailed, match="where run would be, is gone"):
        absolute(Path("run"))
