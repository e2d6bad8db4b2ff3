"""A task that does not work is found before anything is written."""

import pytest

import nses
from nses.rollouts.tasks.catalog import make_task

SMALL = {"recipe": "smoke", "backend": "serial", "tensorboard": False}


@pytest.mark.parametrize(
    ("task", "arguments", "message"),
    [
        ("halfcheetah", {"substeps": 0}, "training_environment: substeps must be a whole number"),
        ("halfcheetah", {"max_steps": 3}, "max_steps is not an argument of the environment"),
        (
            "LunarLander-v3",
            {"continuous": True},
            "must not change observations, actions or the behavior:\n  acti",
        ),
        (make_task("point"), {"half_width": 1}, "training_environment needs a task and a behavior"),
    ],
)
def test_arguments_that_cannot_be_are_refused_before_anything_is_played(
    tmp_path, task, arguments, message
):
    with pytest.raises(ValueError, match=message):
        nses.train(task, run_dir=tmp_path, training_environment=arguments, **SMALL)
    assert not list(tmp_path.rglob("config.json"))
