"""Fixtures of several tests of exports."""

import pytest

import nses
from exported import train


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> nses.Run:
    return train("point-trap", tmp_path_factory.mktemp("point"))
