"""Tasks and behaviors as Python objects, and the names that find them again."""

import sys
from functools import partial
from types import ModuleType

import gymnasium as gym
import pytest
from gymnasium.wrappers import TimeLimit

from foreign_problems import Levers, Screen
from nses.errors import UsageError
from nses.rollouts.behaviors import Behavior, parse_behavior
from nses.rollouts.tasks.own import UNCHOSEN, brought_task, importable_name, rendering, task_again
from nses.rollouts.tasks.task import Task
from toys import CORRIDOR


def pulled(observation, info):
    return info["pulled"]


def test_what_a_module_defines_has_a_name_and_finds_itself():
    assert importable_name(Levers) == "foreign_problems:Levers"
    assert importable_name(Levers.reset) == "foreign_problems:Levers.reset"
    assert importable_name(CORRIDOR) == "toys:CORRIDOR"


@pytest.mark.parametrize(
    "nameless", [lambda o, i: 1, partial(Screen), 5, CORRIDOR.revised(name="x")]
)
def test_what_no_module_holds_has_no_name(nameless):
    assert importable_name(nameless) == ""


def test_what_a_script_defines_has_no_name(monkeypatch):
    main = ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", main)
    main.TASK, main.Own = CORRIDOR.revised(name="x"), type("Own", (), {"__module__": "__main__"})
    assert importable_name(main.TASK) == ""
    assert importable_name(main.Own) == ""


def test_a_class_and_an_instance_that_it_makes_again_go_by_name():
    for levers in (Levers, Levers()):
        assert brought_task(levers, None, 9, {}) == ("foreign_problems:Levers", None, None)


def test_an_instance_that_gymnasium_made_goes_by_its_id():
    made = gym.make("CartPole-v1", render_mode="rgb_array")
    assert brought_task(made, None, None, {}) == ("CartPole-v1", None, None)
    with pytest.raises(UsageError, match="pass a function that makes it"):
        brought_task(gym.make("MountainCar-v0", goal_velocity=0.1), None, None, {})


def test_an_instance_with_arguments_that_nobody_knows_is_refused():
    with pytest.raises(UsageError, match=r"arguments \(shape\) this Screen was made; .*lambda"):
        brought_task(Screen((8, 8)), None, 9, {})


def test_a_function_without_a_name_becomes_a_task():
    name, behavior, task = brought_task(lambda shape: Screen(shape), None, 9, {"shape": (8, 8)})
    assert (name, behavior, task.name, task.step_limit) == ("lambda", None, "lambda", 9)
    assert task.behavior is UNCHOSEN
    assert task.make().observation_space.shape == (8, 8)
    with pytest.raises(UsageError, match="has no step limit"):
        brought_task(lambda: Levers(), None, None, {})
    _, _, task = brought_task(lambda: TimeLimit(Levers(), 30), None, None, {})
    assert task.step_limit == 30


def test_a_behavior_goes_by_name_or_makes_a_task():
    here = f"{__name__}:pulled"
    sys.modules[__name__] = sys.modules.get(__name__) or ModuleType(__name__)
    vars(sys.modules[__name__])["pulled"] = pulled
    assert brought_task(Levers, pulled, 9, {}) == ("foreign_problems:Levers", here, None)
    own = Behavior("mine", pulled, "mean")
    name, behavior, task = brought_task("foreign_problems:Levers", own, 9, {})
    assert (name, behavior, task.behavior) == ("foreign_problems:Levers", None, own)
    assert brought_task(CORRIDOR, lambda o, i: [1.0], None, {})[2].behavior.name == "lambda"


@pytest.mark.parametrize("task", [5, None, ["CartPole-v1"]])
def test_e7_what_makes_no_environment_is_refused(task):
    with pytest.raises(UsageError, match="task must be the name of a task"):
        brought_task(task, None, None, {})


def test_e7_what_is_no_behavior_is_refused():
    with pytest.raises(UsageError, match=r"behavior must be text, .* got 5"):
        brought_task("CartPole-v1", 5, None, {})


def test_a_task_is_found_again_by_name_or_made_from_the_same_class():
    assert task_again("toys:CORRIDOR", None) is CORRIDOR
    assert task_again(Levers, 9).step_limit == 9
    with pytest.raises(UsageError, match=r"must be an nses.Task, .* got ABCMeta|got type"):
        task_again("foreign_problems:Levers", 9)


def test_an_environment_that_takes_a_render_mode_gets_one():
    class Drawn(Levers):
        def __init__(self, render_mode=None):
            self.render_mode = render_mode

    task = Task("drawn", Drawn, parse_behavior("final:pulled"), 9)
    assert rendering(task).make().render_mode == "rgb_array"
    assert rendering(task.revised(make=Levers)).make().render_mode is None
