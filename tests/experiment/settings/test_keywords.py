"""The keywords of `nses.train` are the settings, with their types."""

import types
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import pytest

import nses
from nses.experiment.settings.config import SETTINGS, Config
from nses.experiment.settings.keywords import AlgorithmName, Keywords, RecipeName
from nses.rollouts.behaviors import Behavior, Probe

DECLARED, KEYWORDS = get_type_hints(Config), get_type_hints(Keywords)
PARAMETERS = {"task", "algorithm", "seed", "recipe", "run_dir"}  # of train itself
# More is accepted than is stored.
WIDER = {
    "behavior": str | Behavior | Probe | None,
    "environment": Mapping[str, Any] | Sequence[str],
    "training_environment": Mapping[str, Any] | Sequence[str],
    "stop_at": float | Literal["none"] | None,
    "stop_after": int | Literal["none"] | None,
    "time_limit": str | float | None,
}


def choices(hint: Any) -> tuple[str, ...]:
    """Those of a Literal, alone or in a union."""
    if get_origin(hint) is Literal:
        return get_args(hint)
    union = get_origin(hint) in (Union, types.UnionType)
    return next((c for part in get_args(hint) if (c := choices(part))), ()) if union else ()


def test_every_setting_is_a_keyword_of_train_and_nothing_else_is():
    """A new setting of Config needs a line in Keywords, too."""
    assert KEYWORDS.keys() == SETTINGS.keys() - PARAMETERS


@pytest.mark.parametrize("name", KEYWORDS)
def test_a_keyword_has_the_type_of_its_setting(name):
    table = SETTINGS[name].among
    if table is None:
        hint = DECLARED[name]
        listed = Sequence[get_args(hint)[0]] if get_origin(hint) is tuple else hint
        assert KEYWORDS[name] == WIDER.get(name, listed)
    else:
        assert choices(KEYWORDS[name]) == tuple(table)


def test_algorithms_and_recipes_are_offered_by_name():
    assert choices(AlgorithmName) == tuple(nses.ALGORITHMS)
    assert get_args(RecipeName) == get_args(DECLARED["recipe"])
