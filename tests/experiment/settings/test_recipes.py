"""Recipes: the paper's settings, and ours."""

from dataclasses import replace

import pytest

from nses.core.algorithms import ALGORITHMS
from nses.experiment.settings.build import policy_of
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
