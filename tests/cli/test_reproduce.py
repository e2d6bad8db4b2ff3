"""`nses reproduce`."""

import pytest

from nses.cli.reproduce import command


@pytest.mark.parametrize(
    ("experiment", "name", "runs"),
    [
        ("humanoid", "paper", 10),
        ("humanoid-trap", "paper", 10),
        ("atari", "paper", 5),
        ("seaquest-weight", "paper", 5),
        ("humanoid-trap", "laptop", 5),
        ("point-trap", "smoke", 5),
    ],
)
def test_an_experiment_has_the_runs_of_its_recipe(experiment, name, runs, monkeypatch):
    asked = []
    monkeypatch.setattr("nses.experiment.reproduce.reproduce", lambda *_, **x: asked.append(x))
    command([experiment, "--recipe", name, "--seed", "3"])
    command([experiment, "--recipe", name, "--runs", "2"])
    assert [x["seeds"] for x in asked] == [range(3, 3 + runs), range(2)]
