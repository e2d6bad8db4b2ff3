"""`nses doctor`."""

import re

import pytest

from commands import call

pytestmark = pytest.mark.usefixtures("own_folder")


def test_doctor_finds_this_machine_ready(capsys):
    code, out, _ = call(capsys, "doctor")
    assert code == 0, out
    assert "and with 2 workers" in re.sub(r"\s+", " ", out)
    assert "ready" in out
