"""Recipes: the paper's settings, and ours."""

from dataclasses import replace

import numpy as np
import pytest

from nses.core.algorithms import ALGORITHMS
from nses.experiment.settings.build import policy_of, task_of
from nses.experiment.settings.config import changed, to_dict
from nses.experiment.settings.recipes import GENERAL, recipe
from nses.rollouts.tasks.bodies import BODY_TASKS
from nses.rollouts.tasks.catalog import make_task


@pytest.mark.parametrize("task", ["humanoid", "humanoid-trap"])
@pytest.mark.parametrize("name", ["paper", "smoke"])
def test_the_papers_policy_has_166_673_parameters(task, name):
    assert policy_of(recipe(task, name, "nsra-es"), make_task(task).facts).size == 166_673


def test_the_papers_recipes_differ_in_their_generations():
    trap, free = (recipe(t, "paper", "nsr-es") for t in ("humanoid-trap", "humanoid"))
    assert (trap.generations, free.generations) == (800, 600)
    assert replace(trap, task="humanoid", generations=600) == free
    assert (free.n, free.members, free.evaluation_episodes) == (10_000, 5, 30)
    assert (free.hidden, free.normalize, free.action_noise) == ((256, 256), True, 0.01)


@pytest.mark.parametrize("name", GENERAL)
@pytest.mark.parametrize("task", BODY_TASKS)
def test_recipes_bear_the_name_that_they_are_asked_for_by(task, name):
    config = recipe(task, name, "es")
    assert (config.task, config.recipe, config.members) == (task, name, 1)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("name", GENERAL)
@pytest.mark.parametrize("control", ["point", "swimmer"])
def test_a_control_has_the_settings_of_its_trap(control, name, algorithm):
    trap = recipe(f"{control}-trap", name, algorithm)
    assert recipe(control, name, algorithm) == replace(trap, task=control)


def departures(task, algorithm):
    """Settings of the recipe `authors` that are not those of `paper`."""
    ours, theirs = (to_dict(recipe(task, name, algorithm)) for name in ("authors", "paper"))
    return {name: ours[name] for name in ours if ours[name] != theirs[name] and name != "recipe"}


AUTHORS_BODY = {
    "n": 1000,
    "steps_per_generation": 100_000,
    "ranks": "ordinal",
    "selection": "fresh",
    "behavior_episodes": 5,
    "distance": "euclidean",
}
AUTHORS_GAME = {
    "n": 1000,
    "steps_per_generation": 10_000,
    "ranks": "ordinal",
    "selection": "fresh",
    "behavior_episodes": 1,
    "distance": "ram-total",
    "reference_sampling": "consecutive",
}


def test_the_authors_recipe_is_the_papers_with_what_their_code_does():
    hip, margin = "left_hip=-120", 'trap={"margin": 0.001}'
    assert departures("humanoid", "ns-es") == AUTHORS_BODY | {"environment": [hip]}
    assert departures("humanoid-trap", "nsra-es") == AUTHORS_BODY | {"environment": [hip, margin]}
    assert departures("atari:seaquest", "nsr-es") == AUTHORS_GAME
    assert departures("atari:Frostbite", "ns-es") == AUTHORS_GAME | {
        "n": 100,
        "steps_per_generation": 1000,
    }


def test_the_authors_es_has_nothing_to_choose_among_and_another_sigma_on_frostbite():
    assert recipe("humanoid", "authors", "es").selection == "novelty"
    games = {game: recipe(f"atari:{game}", "authors", "es") for game in ("frostbite", "qbert")}
    assert {game: config.sigma for game, config in games.items()} == {
        "frostbite": 0.005,
        "qbert": 0.02,
    }
    assert games["qbert"].n == 5000


@pytest.mark.parametrize("task", ["humanoid", "humanoid-trap"])
def test_the_authors_bodies_can_be_made(task):
    config = changed(recipe(task, "authors", "nsr-es"), {})
    model = task_of(config).make().unwrapped.model
    assert model.joint("left_hip_y").range[0] == np.radians(-120)
