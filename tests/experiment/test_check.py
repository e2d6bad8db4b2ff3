"""`nses check`: whether a task is sound."""

import pytest

from nses.cli import main


@pytest.mark.parametrize(
    ("task", "code", "said"),
    [
        ("troubled:Calm", 0, "the same in any order"),
        ("forgetful:Remembers", 2, "step 1 after reset(seed=2)"),
        ("hostile:Vanishes", 2, "exit code 0"),
        ("point-trap", 0, "the same in any order"),
    ],
)
def test_m13_nses_check_says_whether_a_task_is_sound(capsys, task, code, said):
    steps = ["--max-steps", "10"] if ":" in task else []
    assert main(["check", task, *steps]) == code
    out, err = capsys.readouterr()
    assert said in " ".join((out + err).split())
