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


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ([], 2, ["pixels are a poor behavior", "--behavior final:x,y takes these numbers"]),
        (["--behavior", "final:x,y"], 0, ["policy a convolutional network", "step limit 8"]),
    ],
)
def test_nses_check_says_what_becomes_of_an_image(capsys, words, code, said):
    assert main(["check", "foreign_problems:Screen", "--max-steps", "8", *words]) == code
    out, err = capsys.readouterr()
    for part in said:
        assert part in " ".join((out + err).split())


@pytest.mark.parametrize(
    ("network", "code", "said"),
    [
        ("networks:Echo", 0, "networks:Echo: 12 parameters; it remembers earlier steps"),
        ("networks:nothing", 2, "nothing(6, 2) returned 'nothing'"),
        ("networks:TWO_TO_ONE", 2, "observation_size is 2; make it 6"),
    ],
)
def test_nses_check_says_whether_a_network_of_ones_own_is_sound(capsys, network, code, said):
    assert main(["check", "point", "--policy-class", network]) == code
    out, err = capsys.readouterr()
    assert said in " ".join((out + err).split())
