import sys
from contextlib import closing

import gymnasium as gym
import pytest

from nses.errors import UsageError
from nses.rollouts.behaviors import Behavior
from nses.rollouts.tasks.catalog import make_task
from nses.rollouts.tasks.point import PointTrapEnv
from toys import CORRIDOR, Corridor


def test_a_shipped_task_has_a_short_name():
    task = make_task("point-trap")
    assert task.name == "point-trap"
    assert isinstance(task.make().unwrapped, PointTrapEnv)
    assert (task.behavior.name, task.behavior_size) == ("final:x,y", 2)
    assert task.distance == "squared-euclidean"
    assert task.step_limit == 300
    assert task.goal == pytest.approx(5.7)
    assert task.native is not None


def test_the_point_without_a_trap_may_be_given_one():
    free, trapped = make_task("point"), make_task("point", half_width=3.0)
    assert (free.name, free.step_limit, free.goal) == ("point", 300, None)
    assert free.make().unwrapped.half_width is None  # type: ignore[attr-defined]
    assert trapped.make().unwrapped.half_width == 3.0  # type: ignore[attr-defined]
    assert trapped.goal == make_task("point-trap").goal
    assert free.native is not None


def test_arguments_go_to_the_environment():
    environment = make_task("point-trap", half_width=3.0).make().unwrapped
    assert isinstance(environment, PointTrapEnv)
    assert environment.half_width == 3.0
    assert make_task("CartPole-v1", sutton_barto_reward=True).make().unwrapped._sutton_barto_reward


def test_an_argument_that_the_environment_does_not_know_is_refused():
    with pytest.raises(ValueError, match=r"CartPole-v1.*colour"):
        make_task("CartPole-v1", colour="red").make()


def test_any_gymnasium_id_is_a_task_with_its_last_observation_as_behavior():
    task = make_task("CartPole-v1")
    assert (task.step_limit, task.goal, task.native) == (500, 475.0, None)
    assert task.behavior.name == "final-observation"
    assert task.behavior_size == 4


def test_behavior_and_distance_can_be_chosen():
    task = make_task("CartPole-v1", "trajectory-observation:0", distance="euclidean")
    assert (task.behavior_size, task.distance) == (10, "euclidean")
    own = Behavior("first", lambda observation, info: observation[:1])
    assert make_task("CartPole-v1", own).behavior is own
    assert make_task("point-trap", "mean:x").behavior.summary == "mean"
    assert make_task("toys:CORRIDOR", "mean:x", distance="euclidean").behavior.summary == "mean"


def test_a_task_of_ones_own_is_found_by_module_and_attribute():
    assert make_task("toys:CORRIDOR") == CORRIDOR
    assert make_task("toys:CORRIDOR", max_steps=5).step_limit == 5


def test_an_environment_of_ones_own_becomes_a_task():
    task = make_task("toys:Corridor", "final:x", max_steps=50, width=7.0)
    environment = task.make()
    assert isinstance(environment, Corridor)
    assert environment.width == 7.0
    assert (task.step_limit, task.behavior_size) == (50, 1)
    assert make_task("toys:Corridor", max_steps=50).behavior.name == "final-observation"


def test_what_is_neither_task_nor_environment_is_refused():
    with pytest.raises(ValueError, match=r"must be an nses.Task or make a Gymnasium.*got int"):
        make_task("toys:NOT_CALLABLE", max_steps=5)
    with pytest.raises(ValueError, match="cannot load task 'toys:missing'"):
        make_task("toys:missing")
    with pytest.raises(ValueError, match=r"takes no arguments.*got width"):
        make_task("toys:CORRIDOR", width=7.0)


@pytest.fixture
def register_hills(tmp_path, monkeypatch):
    """A module that registers an environment with a step limit of 7."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "registers_hills.py").write_text(
        "import gymnasium\n"
        "gymnasium.register('Hills/Low-v3', 'gymnasium.envs.classic_control:CartPoleEnv',\n"
        "                   max_episode_steps=7)\n"
    )
    yield
    gym.registry.pop("Hills/Low-v3", None)
    sys.modules.pop("registers_hills", None)


@pytest.mark.usefixtures("register_hills")
def test_an_id_may_come_after_the_module_that_registers_it():
    task = make_task("registers_hills:Hills/Low-v3")
    assert task.name == "registers_hills:Hills/Low-v3"
    assert task.step_limit == 7
    del sys.modules["registers_hills"], gym.registry["Hills/Low-v3"]  # as in a worker
    with closing(task.make()) as environment:
        assert environment.spec.id == "Hills/Low-v3"
    assert "registers_hills" in sys.modules


@pytest.mark.usefixtures("register_hills")
def test_e7_an_id_that_the_module_does_not_register_is_answered_with_the_closest():
    with pytest.raises(UsageError, match="Did you mean Hills/Low-v3"):
        make_task("registers_hills:Hills/Lowe-v3")


def test_e7_an_id_of_a_module_that_is_not_there_names_the_module():
    with pytest.raises(UsageError, match="cannot import module 'no_such_module'"):
        make_task("no_such_module:Hills/Low-v3")
