"""Settings and what is said about wrong ones."""

import json
import math
from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nses.errors import UsageError
from nses.experiment.settings.config import (
    CHANGEABLE,
    SETTINGS,
    Config,
    changed,
    differences,
    from_dict,
    to_dict,
)
from nses.experiment.settings.recipes import GENERAL, TASK_RECIPES, recipe

BASE = Config(task="point-trap")


@pytest.mark.parametrize("name", ["behavior", "distance", "max_steps"])
def test_e22_a_setting_of_the_task_is_none_of_its_environment(name):
    with pytest.raises(ValueError, match=f"{name} is not an argument of the environment"):
        changed(Config(task="point-trap"), {"environment": (f"{name}=1",)})


def test_e22_an_unknown_setting_names_the_closest_one():
    with pytest.raises(ValueError, match=r"unknown setting 'sigm'; did you mean 'sigma'\?"):
        changed(BASE, {"sigm": 0.1})


def test_e22_all_errors_are_listed_at_once():
    with pytest.raises(ValueError, match="sigma") as error:
        changed(BASE, {"sigma": -1.0, "lr": math.nan, "n": 7, "k": 0, "sede": 1, "members": "5"})
    lines = str(error.value).splitlines()
    assert len(lines) == 6
    for name in ("sigma", "lr", "n=7", "k must", "sede", "members must be a whole number"):
        assert any(name in line for line in lines), name


@pytest.mark.parametrize(("n", "valid"), [(7, 8), (0, 2), (1, 2), (-3, 2), (99, 100)])
def test_e13_a_wrong_n_is_answered_with_the_nearest_valid_one(n, valid):
    with pytest.raises(ValueError, match=f"got n={n}; try n={valid}"):
        changed(BASE, {"n": n})


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("name", [n for n in SETTINGS if isinstance(getattr(BASE, n), float)])
def test_e22_numbers_must_be_finite(name, value):
    with pytest.raises(ValueError, match=name):
        changed(BASE, {name: value})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("seed", 1.5),
        ("seed", True),
        ("algorithm", "nsra"),
        ("hidden", (16, "16")),
        ("hidden", (16, 0)),
        ("normalize", 1),
        ("environment", ("half_width",)),
        ("behavior", 3),
        ("workers", 0),
        ("weight", 1.1),
        ("sigma", 0),
    ],
)
def test_e22_wrong_types_and_ranges_are_refused_by_name(name, value):
    with pytest.raises(ValueError, match=name):
        changed(BASE, {name: value})


def test_e9_k_below_one_is_refused():
    with pytest.raises(ValueError, match=r"k must be at least 1 .*got 0"):
        changed(BASE, {"k": 0})


def test_environment_arguments_are_pairs_with_json_values():
    config = changed(BASE, {"environment": {"half_width": 1.5, "flag": True, "name": "a=b"}})
    assert config.environment_arguments == {"half_width": 1.5, "flag": True, "name": "a=b"}
    typed = changed(BASE, {"environment": ("half_width=1.5", "mode=fast")})
    assert typed.environment_arguments == {"half_width": 1.5, "mode": "fast"}


@given(
    st.builds(
        lambda seed, sigma, hidden, members: replace(
            BASE, seed=seed, sigma=sigma, hidden=hidden, members=members
        ),
        st.integers(0, 2**63 - 1),
        st.floats(1e-6, 1e6),
        st.lists(st.integers(1, 512), max_size=3).map(tuple),
        st.integers(1, 100),
    )
)
def test_a_stored_configuration_comes_back_equal(config):
    assert from_dict(json.loads(json.dumps(to_dict(config)))) == config


def test_only_what_makes_another_run_counts_as_a_difference():
    for field in fields(Config):
        value = getattr(BASE, field.name)
        other = replace(
            BASE, **{field.name: "something else" if value is None else (value, "else")}
        )
        assert bool(differences(BASE, other)) == (field.name not in CHANGEABLE), field.name


@pytest.mark.parametrize("task", ["point-trap", "CartPole-v1"])
@pytest.mark.parametrize("name", list(GENERAL))
@pytest.mark.parametrize("algorithm", ["es", "ns-es", "nsr-es", "nsra-es"])
def test_every_recipe_is_a_valid_configuration(task, name, algorithm):
    config = recipe(task, name, algorithm)
    assert changed(config, {}) == config
    assert (config.recipe, config.algorithm, config.task) == (name, algorithm, task)
    assert (config.members == 1) == (algorithm == "es")


def test_the_paper_recipe_has_the_numbers_of_the_paper():
    c = recipe("anything", "paper", "nsra-es")
    assert (c.n, c.sigma, c.lr, c.members, c.k) == (10_000, 0.02, 0.01, 5, 10)
    assert (c.evaluation_episodes, c.weight, c.weight_patience, c.weight_step) == (
        30,
        1.0,
        50,
        0.05,
    )
    assert (c.l2, c.optimizer, c.hidden, c.action_noise) == (0.005, "adam", (256, 256), 0.01)
    assert c.moments_probability == 0.01


def test_an_unknown_recipe_is_refused():
    with pytest.raises(ValueError, match="recipe must be one of paper, authors, laptop, smoke"):
        recipe("point-trap", "server", "es")
    assert "point-trap" in TASK_RECIPES


@pytest.mark.parametrize("changes", [{"members": 3}, {"members": 3, "algorithm": "es"}])
def test_es_has_one_member(changes):
    with pytest.raises(ValueError, match=r"got 3; .* use one of ns-es, nsr-es, nsra-es\."):
        changed(recipe("point-trap", "smoke", "es"), changes)
    with pytest.raises(ValueError, match="members must be 1, got 2"):
        changed(recipe("point-trap", "smoke", "nsra-es"), {"algorithm": "es"})


def test_an_old_run_of_es_with_several_members_still_loads_and_goes_on():
    old = to_dict(recipe("point-trap", "smoke", "es")) | {"members": 3}
    loaded = from_dict(old)
    assert loaded.members == 3
    assert changed(loaded, {"generations": 9}).members == 3


def test_entries_of_observations_and_modules_may_be_one_or_several():
    base = Config(task="CartPole-v1")
    assert changed(base, {"observation": ("image", "door")}).observed == ("image", "door")
    assert changed(base, {"observation": "image, door"}).observed == ("image", "door")
    assert base.observed == ()
    assert changed(base, {"imports": "a.b"}).imports == ("a.b",)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"observation": "image,,door"}, "observation must name entries"),
        ({"observation": ""}, "observation must name entries"),
        ({"imports": ["a b"]}, "import takes the name of a module, .* got 'a b'"),
        ({"imports": ["../a"]}, "import takes the name of a module"),
    ],
)
def test_e7_entries_and_modules_have_names(settings, words):
    with pytest.raises(UsageError, match=words):
        changed(Config(task="CartPole-v1"), settings)
