"""Modules that are imported first, and entries of observations that are chosen."""

import sys
from functools import partial

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

from nses.errors import UsageError
from nses.rollouts.tasks.adapted import Adapted, Chosen, chosen, flattening

PLACE = spaces.Box(-1, 1, (2,))
DICT = spaces.Dict({"text": spaces.Text(5), "place": PLACE, "door": spaces.Discrete(2)})
SEEN = {"place": np.zeros(2, np.float32), "door": 1, "text": "go"}


def test_several_entries_keep_the_order_of_the_space():
    space, choose = chosen(DICT, ("place", "door"))
    assert list(space.spaces) == ["door", "place"]
    assert list(choose(SEEN)) == ["door", "place"]
    assert space.contains(choose(SEEN))


def test_a_single_entry_stands_for_itself():
    space, choose = chosen(DICT, ("door",))
    assert space == spaces.Discrete(2)
    assert choose(SEEN) == 1


def test_the_parts_of_a_tuple_are_counted():
    space = spaces.Tuple([PLACE, spaces.Text(5), spaces.Discrete(2)])
    seen = (SEEN["place"], "go", 1)
    part, choose = chosen(space, ("2", "0"))
    assert part == spaces.Tuple([PLACE, spaces.Discrete(2)])
    assert part.contains(choose(seen))
    assert chosen(space, ("2",))[1](seen) == 1


def test_an_entry_that_is_not_there_is_answered_with_those_that_are():
    with pytest.raises(UsageError, match=r"no entry 'plaice'.* entries are door, place, text"):
        chosen(DICT, ("plaice",))


def test_a_space_without_entries_has_none_to_choose():
    with pytest.raises(
        UsageError, match=r"entries of a Dict or Tuple .* or numbers of a vector, got Discrete"
    ):
        chosen(spaces.Discrete(3), ("0",))


def test_numbers_of_a_vector_are_chosen_by_their_places():
    space = spaces.Box(np.arange(5.0), np.arange(5.0) + 10, dtype=np.float64)
    part, choose = chosen(space, ("3:", "1"))
    assert part == spaces.Box(np.array([1.0, 3, 4]), np.array([11.0, 13, 14]), dtype=np.float64)
    assert choose(np.arange(5.0)).tolist() == [1, 3, 4]


@pytest.mark.parametrize("observation", [[0.0, 1, 2, 3, 4], [1.0, 3, 4]])
def test_a_policy_takes_a_whole_vector_or_what_was_chosen_of_it(observation):
    part, _ = chosen(spaces.Box(-9, 9, (5,)), ("1", "3:"))
    assert flattening(part, ("1", "3:"))(np.array(observation)).tolist() == [1, 3, 4]


def test_a_policy_takes_a_whole_dictionary_or_what_was_chosen_of_it():
    both, _ = chosen(DICT, ("place", "door"))
    assert flattening(both, ("place", "door"))(SEEN).tolist() == [0, 1, 0, 0]
    door, _ = chosen(DICT, ("door",))
    assert flattening(door, ("door",))(SEEN).tolist() == [0, 1]
    assert flattening(door, ("door",))(1).tolist() == [0, 1]


class Room(gym.Env):
    observation_space, action_space = DICT, spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        return SEEN, {}

    def step(self, action):
        return SEEN, 0.0, False, False, {}


def test_the_environment_shows_what_was_chosen_and_nothing_else():
    environment = Adapted(Room, keys=("place",))()
    assert isinstance(environment, Chosen)
    assert environment.observation_space == PLACE
    assert environment.reset()[0] is SEEN["place"]
    assert environment.step(0)[0] is SEEN["place"]


def test_modules_are_imported_before_the_environment_is_made(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "registers_a_room.py").write_text(
        "from gymnasium.envs.registration import register\n"
        "register('LateRoom-v0', f'{__name__}:nowhere')\n"
    )
    late = Adapted(partial(gym.spec, "LateRoom-v0"), modules=("registers_a_room",))
    try:
        assert late().id == "LateRoom-v0"
    finally:
        gym.registry.pop("LateRoom-v0", None)
        sys.modules.pop("registers_a_room", None)


def test_a_module_that_cannot_be_imported_is_named():
    with pytest.raises(UsageError, match="cannot import module 'no_such_module'"):
        Adapted(Room, modules=("no_such_module",))()
