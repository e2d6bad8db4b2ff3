"""`nses estimate`."""

import re

import pytest

from commands import call

pytestmark = pytest.mark.usefixtures("own_folder")


def test_estimate_tells_time_and_memory(capsys):
    code, out, _ = call(capsys, "estimate", "point-trap", "--workers", "4")
    assert code == 0
    assert "418 parameters" in out
    assert "52,555" in out
    assert re.search(r"memory\s+[\d.]+ GB", out)
