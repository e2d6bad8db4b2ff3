"""Extras: optional dependencies."""

import importlib
import tomllib
from pathlib import Path

import pytest

from nses.errors import UsageError
from nses.extras import EXTRAS, needing

PROJECT = Path(__file__).parents[1] / "pyproject.toml"


def test_every_extra_is_one_that_can_be_installed() -> None:
    extras = tomllib.loads(PROJECT.read_text())["project"]["optional-dependencies"]
    assert EXTRAS.keys() <= extras.keys()


def test_an_extra_installs_what_its_command_needs_and_developers_have_all() -> None:
    extras = tomllib.loads(PROJECT.read_text())["project"]["optional-dependencies"]
    assert any("gymnasium[classic-control]" in needed for needed in extras["video"])
    assert any(needed.startswith("tensorboard>") for needed in extras["tensorboard"])
    (ours,) = (needed for needed in extras["dev"] if needed.startswith("nses["))
    installed = {*ours.removeprefix("nses[").removesuffix("]").split(",")}
    assert installed >= EXTRAS.keys() - {"torch"}  # which is large: its tests say what they skip


def test_a_missing_module_is_an_error_of_usage_that_says_how_to_get_it() -> None:
    expected = r"a film needs the extra 'video': pip install 'nses\[video\]' \(No module named"
    with pytest.raises(UsageError, match=expected), needing("video", "a film"):
        importlib.import_module("no_such_module")


def test_any_other_error_is_left_as_it_is() -> None:
    with pytest.raises(ZeroDivisionError), needing("video", "a film"):
        _ = 1 // 0
