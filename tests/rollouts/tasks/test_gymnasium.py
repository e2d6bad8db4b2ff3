"""Gymnasium environments as tasks: their names, their step limits, what they lack."""

import random
import sys

import gymnasium as gym
import pytest
from gymnasium.wrappers import TimeLimit

from nses.rollouts.tasks.catalog import make_task
from nses.rollouts.tasks.gymnasium import limit_in
from toys import Corridor


@pytest.mark.parametrize(
    ("name", "closest"),
    [
        ("CartPole-v9", "CartPole-v1"),
        ("cartpole", "CartPole-v1"),
        ("point-trp", "point-trap"),
        ("NSES/PointTrip-v0", "NSES/PointTrap-v0"),
    ],
)
def test_e7_an_unknown_name_is_answered_with_the_closest(name, closest):
    with pytest.raises(ValueError, match=f"called '{name}'. Did you mean .*{closest}"):
        make_task(name)


def test_e7_a_name_like_no_other_is_answered_with_where_to_look():
    with pytest.raises(ValueError, match=r"'qqqqqqqqqq'\. 'nses tasks' lists"):
        make_task("qqqqqqqqqq")


def test_e7_a_missing_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ale_py", None)
    with pytest.raises(ValueError, match=r"needs the extra 'atari': pip install 'nses\[atari\]'"):
        make_task("ALE/Frostbite-v5")


def test_e7_a_package_that_gymnasium_misses_is_named(monkeypatch):
    for name in [name for name in sys.modules if name.startswith("gymnasium.envs.box2d")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "Box2D", None)
    with pytest.raises(ValueError, match=r"LunarLander-v3' cannot be made: .*box2d"):
        make_task("LunarLander-v3").make()


def test_max_steps_shortens_episodes_and_never_lengthens_them():
    assert make_task("CartPole-v1", max_steps=20).step_limit == 20
    assert make_task("CartPole-v1", max_steps=2000).step_limit == 500
    assert make_task("point-trap", max_steps=20).step_limit == 20


@pytest.mark.parametrize("name", ["point-trap", "CartPole-v1", "toys:Corridor", "toys:CORRIDOR"])
def test_max_steps_below_one_is_refused(name):
    with pytest.raises(ValueError, match="max_steps must be at least 1, got 0"):
        make_task(name, max_steps=0)


class Patient(Corridor):
    """Says how long it takes, as MiniGrid does."""

    max_episode_steps = 2**40  # no limit

    def __init__(self) -> None:
        super().__init__()
        self.max_steps = 40

    @property
    def _max_episode_steps(self):
        raise RuntimeError("nobody may ask")


@pytest.mark.parametrize(
    ("make", "limit"),
    [
        (Patient, 40),
        (lambda: TimeLimit(Patient(), 30), 30),
        (lambda: TimeLimit(Corridor(), 30), 30),
        (lambda: gym.make("CartPole-v1"), 500),
        (Corridor, None),
    ],
)
def test_an_environment_tells_its_own_step_limit(make, limit):
    assert limit_in(make()) == limit


def test_an_environment_that_is_registered_without_its_step_limit_is_asked_for_it():
    gym.register("Patient-v0", Patient)
    try:
        assert make_task("Patient-v0").step_limit == 40
        assert make_task("Patient-v0", max_steps=50).step_limit == 50
    finally:
        del gym.registry["Patient-v0"]
    random.seed(1)
    assert make_task(f"{__name__}:Patient").step_limit == 40
    drawn = random.random()
    random.seed(1)
    assert drawn == random.random()


def test_e18_an_environment_without_a_step_limit_needs_one():
    with pytest.raises(ValueError, match=r"no step limit.*--max-steps 1000"):
        make_task("toys:Corridor")
    gym.register("Corridor-v0", Corridor)
    try:
        with pytest.raises(ValueError, match=r"no step limit.*--max-steps 1000"):
            make_task("Corridor-v0")
        assert make_task("Corridor-v0", max_steps=30).step_limit == 30
    finally:
        del gym.registry["Corridor-v0"]
