"""What is said about images, before anything is trained on them."""

from dataclasses import replace
from typing import Any

import pytest

import nses
from foreign_problems import Screen
from nses.errors import UsageError
from nses.experiment.settings.pixels import refuse_pixels

CONFIG = nses.recipe("screen", "smoke", "es")


class Silent(Screen):
    """Tells nothing about itself."""

    def _info(self) -> dict[str, Any]:
        return {}


class Mute(Silent):
    """Has nothing to tell either."""

    @property
    def place(self) -> Any:
        return self._place

    @place.setter
    def place(self, value: Any) -> None:
        self._place = value


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        (Screen, r"measured on: --behavior final:x,y takes .*; --behavior module:function .*"),
        (Silent, r"measured on: --behavior final-attribute:place takes .*; --behavior module:.*"),
        (Mute, r"measured on: --behavior module:function .*"),
    ],
)
def test_what_is_said_about_pixels_can_be_pasted(environment, said):
    behavior = nses.make_task("CartPole-v1").behavior  # the default
    task = nses.Task("screen", lambda: environment((8, 8)), behavior, step_limit=5)
    with pytest.raises(UsageError, match=said + "--behavior final-observation"):
        refuse_pixels(CONFIG, task)


def test_a_search_of_ones_own_says_that_it_flattens_an_image(caplog):
    task = nses.Task("screen", lambda: Screen((8, 8)), nses.Behavior("place", place), step_limit=5)
    with nses.search_of(replace(CONFIG, backend="serial"), task):
        assert "the image that is observed is flattened" in caplog.text
        assert "--network conv (network='conv')" in caplog.text


def place(observation: Any, info: dict[str, Any]) -> list[int]:
    return [info["x"], info["y"]]
