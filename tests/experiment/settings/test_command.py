import shlex
from dataclasses import replace

import pytest

from nses.cli.arguments import configuration
from nses.experiment.settings.command import (
    changes_of,
    flags_of,
    train_command,
)
from nses.experiment.settings.config import PRACTICAL, changed, to_dict
from nses.experiment.settings.recipes import recipe


@pytest.mark.parametrize(
    ("task", "settings"),
    [
        ("point-trap", {"environment": {"half_width": 2.5}, "hidden": (3, 4), "sigma": 0.03}),
        ("CartPole-v1", {"behavior": "final-observation:0", "normalize": False, "max_steps": 30}),
        ("CartPole-v1", {"distance": "euclidean", "weight_per_member": True, "seed": 7}),
        ("CartPole-v1", {"imports": ["json", "os.path"], "observation": ["image", "0"]}),
        ("atari:frostbite", {"max_steps": None}),  # where the recipe has a limit
    ],
)
def test_the_command_gives_the_settings_again(task, settings):
    config = changed(recipe(task, "smoke", "nsr-es"), settings)
    words = shlex.split(train_command(config))
    assert words[:2] == ["nses", "train"]
    again = configuration(words[2:], "train", "")
    told = set(to_dict(config)) - PRACTICAL
    assert {n: to_dict(again)[n] for n in told} == {n: to_dict(config)[n] for n in told}


def test_a_distance_that_is_the_tasks_own_is_no_change():
    config = recipe("CartPole-v1", "smoke", "es")
    assert changes_of(replace(config, distance="squared-euclidean")) == {}
    assert changes_of(replace(config, distance="euclidean")) == {"distance": "euclidean"}


def test_a_distance_that_is_not_that_of_the_recipe_is_one():
    config = replace(recipe("humanoid", "authors", "es"), distance="squared-euclidean")
    assert changes_of(config) == {"distance": "squared-euclidean"}


def test_nothing_is_imported_to_tell_the_changes_of_a_run(tmp_path, monkeypatch):
    (tmp_path / "hostile.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    config = replace(recipe("hostile:Task", "smoke", "es"), distance="euclidean")
    assert changes_of(config) == {"distance": "euclidean"}


def test_what_is_only_practical_is_no_change():
    config = changed(recipe("point-trap", "smoke", "es"), {"workers": 3, "pictures": False})
    assert changes_of(config) == {}


def test_flags_say_yes_no_many_and_nothing():
    settings = {"normalize": False, "native": True, "hidden": [3, 4], "max_steps": None, "n": 8}
    assert flags_of(settings) == [
        *("--no-normalize", "--native", "--hidden", "3", "4", "--max-steps", "auto", "--n", "8")
    ]
