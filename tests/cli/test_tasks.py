"""`nses tasks`."""

import pytest

from commands import call

pytestmark = pytest.mark.usefixtures("own_folder")


def test_tasks_lists_what_comes_along(capsys):
    code, out, _ = call(capsys, "tasks")
    assert code == 0
    assert "point-trap" in out
    assert "atari:GAME" in out
    assert "nses train CartPole-v1" in out
