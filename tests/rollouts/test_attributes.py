"""Behaviors that read attributes of an environment."""

import pickle
from typing import Any

import numpy as np
import pytest

import nses
from foreign_problems import Screen
from nses.errors import UsageError
from nses.rollouts.attributes import AttributeProbe
from nses.rollouts.behaviors import parse_behavior


class Hidden(Screen):
    """Tells nothing; its place is an attribute, which it changes where it stands."""

    def __init__(self) -> None:
        super().__init__((8, 8))
        self.sizes = (8, 8)

    def _info(self) -> dict[str, Any]:
        return {}


def test_the_behavior_is_the_attribute_after_the_last_step():
    task = nses.make_task(f"{__name__}:Hidden", "final-attribute:place,side", max_steps=3)
    assert (task.behavior_size, task.facts.label(0)) == (3, "final place,side 0")
    environment = task.make()
    observation, info = environment.reset(seed=1)
    before = task.behavior.probe(observation, info)
    observation, _, _, _, info = environment.step(0)
    assert task.behavior.probe(observation, info).tolist() == [*environment.unwrapped.place, 8]
    assert before.tolist() != task.behavior.probe(observation, info).tolist()
    nses.check_task(task)


def test_it_is_trained_evaluated_and_replayed_like_any_other(tmp_path):
    run = nses.train(
        Hidden, behavior="final-attribute:place", max_steps=4, recipe="smoke", n=4, generations=1,
        evaluation_episodes=1, network="mlp", backend="serial", tensorboard=False,
        run_dir=tmp_path / "run",
    )  # fmt: skip
    assert run.facts.label(1) == "final place 1"
    assert run.replay(1)["same bits"]
    assert run.evaluate(episodes=2).returns.shape == (2,)


def test_equal_behaviors_are_equal_and_sent():
    behavior = parse_behavior("mean-attribute: x, y")
    assert behavior.same_as(pickle.loads(pickle.dumps(behavior)))
    assert behavior.probe == AttributeProbe(("x", "y"))


def test_an_environment_is_asked_only_for_numbers_that_it_has():
    for name in ("speed", "observation_space"):
        task = nses.make_task(f"{__name__}:Hidden", f"final-attribute:{name}", max_steps=3)
        with pytest.raises(UsageError, match=rf"'{name}' of Hidden.*might be places: .*place"):
            _ = task.facts
    with pytest.raises(UsageError, match="a task that is made with it"):
        AttributeProbe(("place",))(np.zeros(2), {})


def test_attributes_that_a_step_changes_are_offered():
    task = nses.make_task(f"{__name__}:Hidden", max_steps=3)
    assert task.facts.places == ("place",)
