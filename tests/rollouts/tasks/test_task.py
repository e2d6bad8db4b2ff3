"""Tasks: what they find out about their environment, and what they say where it is none."""

from functools import partial

import numpy as np
import pytest

from nses.rollouts.behaviors import Behavior, parse_behavior
from nses.rollouts.tasks.task import Task
from toys import Corridor
from troubled import Calm

LAST = parse_behavior("final-observation")


def test_only_what_is_given_is_revised():
    task = Task("calm", Calm, LAST, 10)
    revised = task.revised(step_limit=5, distance=None)
    assert (revised.step_limit, revised.distance) == (5, task.distance)
    assert task.step_limit == 10


def test_facts_are_the_spaces_and_the_size_of_a_behavior():
    task = Task("calm", Calm, LAST, 10)
    assert task.facts.observation_space == Calm().observation_space
    assert task.facts.action_space == Calm().action_space
    assert task.behavior_size == np.size(Calm().observation_space.sample())


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: "an environment", "must make a gymnasium.Env, got str"),
        (partial(Corridor, no_such_argument=1), "cannot be made"),
        (lambda: 1 // 0, "cannot be made"),
        (lambda: exec("raise SystemExit"), "cannot be made"),
    ],
)
def test_e3_what_makes_no_environment_is_said_to_be_so(make, said):
    with pytest.raises(ValueError, match=said):
        Task("broken", make, LAST, 10).made()


def test_a_behavior_that_fails_is_named():
    task = Task("calm", Calm, Behavior("odd", lambda observation, info: 1 // 0), 10)
    with pytest.raises(ValueError, match="behavior 'odd' failed: ZeroDivisionError"):
        _ = task.facts


@pytest.mark.parametrize("starts", [30, [1, 2], (1, 1), (-1,), (2**31,), (0.5,), ("0",)])
def test_starts_are_different_seeds(starts):
    assert Task("calm", Calm, LAST, 10, starts=(0, 2**31 - 1)).starts == (0, 2**31 - 1)
    with pytest.raises(ValueError, match="starts must be a tuple of different seeds"):
        Task("calm", Calm, LAST, 10, starts=starts)
