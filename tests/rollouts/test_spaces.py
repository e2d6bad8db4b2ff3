import json
from collections import OrderedDict

import numpy as np
import pytest
from gymnasium import spaces

from nses.rollouts.spaces import describe, input_of, output_of, space_from


def test_boxes_are_flattened_to_float64():
    inputs = input_of(spaces.Box(0, 255, (2, 3), np.uint8))
    x = inputs.flatten(np.arange(6, dtype=np.uint8).reshape(2, 3))
    assert inputs.size == 6
    assert x.dtype == np.float64
    assert x.tolist() == [0, 1, 2, 3, 4, 5]


def test_a_discrete_observation_is_one_hot_from_its_start():
    inputs = input_of(spaces.Discrete(3, start=-1))
    assert [inputs.flatten(o).tolist() for o in (-1, 0, 1)] == np.eye(3).tolist()


@pytest.mark.parametrize(
    ("space", "observation", "flat"),
    [
        (spaces.MultiBinary(3), np.array([1, 0, 1]), [1, 0, 1]),
        (spaces.MultiDiscrete([2, 3]), np.array([1, 2]), [0, 1, 0, 0, 1]),
        (
            spaces.Dict({"b": spaces.Discrete(2), "a": spaces.Box(-1, 1, (2,))}),
            {"a": np.array([0.5, -0.5], np.float32), "b": 1},
            [0.5, -0.5, 0, 1],
        ),
        (
            spaces.Tuple([spaces.Box(-1, 1, (1,)), spaces.Discrete(2)]),
            (np.array([0.25], np.float32), 0),
            [0.25, 1, 0],
        ),
    ],
)
def test_compound_observations_flatten(space, observation, flat):
    inputs = input_of(space)
    x = inputs.flatten(observation)
    assert x.dtype == np.float64
    assert x.tolist() == flat
    assert inputs.size == len(flat)


def test_e5_an_observation_of_another_shape_is_refused():
    inputs = input_of(spaces.Box(-1, 1, (3,)))
    with pytest.raises(ValueError, match="size 4"):
        inputs.flatten(np.zeros(4))


@pytest.mark.parametrize(
    "space",
    [
        spaces.Text(5),
        spaces.Sequence(spaces.Discrete(2)),
        spaces.Graph(spaces.Box(-1, 1, (2,)), None),
        spaces.Dict({"t": spaces.Sequence(spaces.Discrete(2))}),
    ],
    ids=lambda space: type(space).__name__,
)
def test_e6_an_unsupported_observation_space_is_named(space):
    with pytest.raises(ValueError, match="wrap the environment") as error:
        input_of(space)
    assert str(space) in str(error.value)


@pytest.mark.parametrize(
    "space",
    [
        spaces.Box(0, 9, (2,), np.int64),
        spaces.Text(3),
        spaces.Dict({"a": spaces.Discrete(2), "b": spaces.Text(3)}),
        spaces.Tuple([]),
    ],
    ids=lambda space: type(space).__name__,
)
def test_e6_an_unsupported_action_space_is_named(space):
    with pytest.raises(ValueError, match="actions must come from a Discrete") as error:
        output_of(space)
    assert str(space) in str(error.value) or "Text" in str(error.value)


@pytest.mark.parametrize("kind", [spaces.Text(5), spaces.Graph(spaces.Box(-1, 1, (2,)), None)])
def test_e6_an_entry_without_numbers_is_named_with_those_that_have_some(kind):
    space = spaces.Dict(
        {"goal": kind, "place": spaces.Box(-1, 1, (2,)), "door": spaces.Discrete(2)}
    )
    with pytest.raises(ValueError, match=r"the entry 'goal'.*--observation door,place"):
        input_of(space)


def test_e6_a_foreign_space_inside_a_dictionary_is_named():
    class Mission(spaces.Space):
        pass

    inner = spaces.Dict({"a": Mission(), "b": spaces.Discrete(2)})
    with pytest.raises(ValueError, match=r"the entry 'in.a'.*got Mission.*--observation out"):
        input_of(spaces.Dict({"in": inner, "out": spaces.Discrete(2)}))


ACTIONS = {
    "bits": (spaces.MultiBinary(3), [0.1, -0.1, 0.0], [1, 0, 0]),
    "a grid of bits": (spaces.MultiBinary([1, 2]), [-1.0, 1.0], [[0, 1]]),
    "choices": (spaces.MultiDiscrete([2, 3]), [0.0, 1.0, 5.0, 9.0, 7.0], [1, 1]),
    "a grid of choices": (
        spaces.MultiDiscrete([[2], [2]], start=[[5], [-1]]), [0.0, 1.0, 1.0, 0.0], [[6], [-1]]
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ACTIONS)
def test_several_choices_are_made_from_groups_of_outputs(name):
    space, y, expected = ACTIONS[name]
    outputs = output_of(space)
    action = outputs.act(np.array(y, np.float32))
    assert outputs.size == len(y)
    assert not outputs.continuous
    assert space.contains(action)
    assert action.tolist() == expected


def test_compound_actions_take_their_outputs_in_order_and_noise_only_for_numbers():
    space = spaces.Dict(
        {
            "turn": spaces.Box(-1, 1, (1,)),
            "hand": spaces.Tuple([spaces.Discrete(2), spaces.MultiBinary(1)]),
        }
    )
    outputs = output_of(space)
    action = outputs.act(np.array([0.0, 1.0, -1.0, 0.5], np.float32))
    assert space.contains(action)
    assert action["hand"] == (1, np.array([0]))
    assert action["turn"].tolist() == [0.5]
    assert outputs.continuous
    assert outputs.noisy.tolist() == [0, 0, 0, 1]


def test_a_discrete_action_is_the_largest_output_counted_from_its_start():
    outputs = output_of(spaces.Discrete(3, start=5))
    assert outputs.size == 3
    assert not outputs.continuous
    action = outputs.act(np.array([0.1, -2.0, 0.7], np.float32))
    assert action == 7
    assert isinstance(action, int)
    assert outputs.act(np.zeros(3, np.float32)) == 5  # ties go to the first


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_e5_actions_are_clipped_to_the_box(dtype):
    space = spaces.Box(
        np.array([[-1.0], [-2.0]], dtype), np.array([[1.0], [2.0]], dtype), dtype=dtype
    )
    outputs = output_of(space)
    assert outputs.size == 2
    assert outputs.continuous
    for y, expected in (
        ([1e30, -1e30], [[1.0], [-2.0]]),
        ([np.inf, -np.inf], [[1.0], [-2.0]]),
        ([0.5, -0.25], [[0.5], [-0.25]]),
    ):
        action = outputs.act(np.array(y, np.float32))
        assert space.contains(action)
        assert action.tolist() == expected


def test_e5_outputs_of_another_size_are_refused():
    outputs = output_of(spaces.Box(-1, 1, (2,)))
    with pytest.raises(ValueError, match="size 3"):
        outputs.act(np.zeros(3, np.float32))


@pytest.mark.parametrize(
    "space",
    [
        spaces.Box(-1, 1, (2,), np.float32),
        spaces.Box(-np.inf, np.inf, (2, 3), np.float64),
        spaces.Box(0, 255, (4, 4), np.uint8),
        spaces.Box(np.array([-0.1, -2.0]), np.array([0.3, np.inf]), dtype=np.float64),
        spaces.Discrete(4, start=-2),
        spaces.MultiBinary(3),
        spaces.MultiBinary((2, 2)),
        spaces.MultiDiscrete([2, 3], start=[1, 0]),
        spaces.Dict({"a": spaces.Discrete(2), "b": spaces.Tuple([spaces.Box(-1, 1, (1,))])}),
    ],
    ids=str,
)
def test_a_space_is_the_same_after_a_trip_through_json(space):
    assert space_from(json.loads(json.dumps(describe(space)))) == space


def test_what_describes_no_space_is_refused():
    with pytest.raises(ValueError, match="this does not describe a space"):
        space_from({"sphere": 3})
    with pytest.raises(ValueError, match="cannot be stored"):
        describe(spaces.Text(5))


def test_the_parts_of_a_dictionary_keep_their_order_on_disk():
    space = spaces.Dict(OrderedDict(b=spaces.Discrete(2), a=spaces.Box(-1.0, 1.0, (2,))))
    assert list(space.spaces) == ["b", "a"]
    again = space_from(json.loads(json.dumps(describe(space))))
    assert list(again.spaces) == ["b", "a"]
