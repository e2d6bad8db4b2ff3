"""A setting is declared once: what follows from the declaration."""

import math
import shutil
import subprocess
import sys
from dataclasses import MISSING, fields
from pathlib import Path

import pytest

import nses
from nses.core.algorithms import Hyperparameters
from nses.experiment.settings.build import hyperparameters_of
from nses.experiment.settings.config import CHANGEABLE, PRACTICAL, SETTINGS, Config, changed
from nses.experiment.settings.setting import Kind, Setting
from nses.experiment.settings.stopping import STOPS

BASE = Config(task="point-trap")


@pytest.mark.parametrize(
    ("declared", "right", "wrong", "sentence"),
    [
        (Setting(above=0), 1e-9, 0, "x must be greater than 0, got 0."),
        (Setting(above=0), 5.0, math.nan, "x must be greater than 0, got nan."),
        (Setting(at_least=0, at_most=1), 1, 1.5, "x must be at least 0 and at most 1, got 1.5."),
        (Setting(letters=3), "abc", "abcd", "x must have at most 3 letters, got 4."),
        (Setting(letters=9), "a", "\udcff",
         r"x must be valid Unicode, got '\udcff', which has a lone surrogate."),
        (Setting(entries=2, letters=1), ("a", "b"), ("a", "b", "c"),
         "x must have at most 2 entries, got 3."),
        (Setting(rule=lambda value: ["odd"] if value % 2 else []), 2, 3, "odd"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_value_follows_from_the_declaration(declared, right, wrong, sentence):
    assert list(declared.violations("x", right)) == []
    assert list(declared.violations("x", wrong)) == [sentence]
    assert list(declared.violations("x", None)) == []


def test_what_is_practical_or_says_so_may_change_in_the_middle_of_a_run():
    assert Setting(kind=Kind.PRACTICAL).changeable
    assert Setting(changes=True).changeable
    assert not Setting().changeable
    assert not Setting(kind=Kind.TASK).changeable
    assert {"recipe", "generations", *STOPS} == CHANGEABLE - PRACTICAL


def test_every_hyperparameter_of_the_paper_is_a_setting_with_its_symbol():
    symbols = [declared.symbol for declared in SETTINGS.values() if declared.symbol]
    assert sorted(symbols) == sorted(field.name for field in fields(Hyperparameters))


def test_a_setting_reaches_core_under_its_symbol():
    config = changed(
        BASE, {"members": 3, "weight_step": 0.2, "ranks": "ordinal", "selection": "fresh"}
    )
    h = hyperparameters_of(config, "euclidean")
    assert (h.M, h.delta_w, h.ordinal_ranks, h.selection) == (3, 0.2, True, "fresh")
    assert (h.distance, h.moments_probability) == ("euclidean", 0.01)
    without = hyperparameters_of(changed(config, {"normalize": False}), "euclidean")
    assert without.moments_probability == 0.0


def test_a_choice_is_understood_by_its_former_name():
    config = changed(BASE, {"selection": "cached"})
    assert config == BASE
    assert config.selection == "novelty"


def test_core_and_settings_have_the_same_defaults_but_for_the_episodes_of_a_member():
    h = hyperparameters_of(BASE, "squared-euclidean")
    defaults = {f.name: f.default for f in fields(Hyperparameters) if f.default is not MISSING}
    assert {name for name, value in defaults.items() if getattr(h, name) != value} == {"E"}


EVERYWHERE = """
from nses.experiment.settings.build import hyperparameters_of
from nses.experiment.settings.config import changed, differences, from_dict, to_dict
from nses.experiment.settings.recipes import recipe
from nses.cli.arguments import configuration

config = configuration(["point-trap", "--momentum", "0.5"], "train", "")
assert hyperparameters_of(config, "euclidean").momentum == 0.5
assert differences(config, recipe("point-trap", "laptop", "nsra-es")) == [
    "momentum: 0.5 given, 0.9 stored"
]
assert from_dict(to_dict(config)) == config
try:
    changed(config, {"momentum": 1.5})
except ValueError as error:
    print(error)
configuration(["point-trap", "--help"], "train", "")
"""


def test_a_new_hyperparameter_is_one_declaration_and_a_field_of_core(tmp_path):
    source = tmp_path / "src"
    shutil.copytree(Path(nses.__file__).parent, source / "nses")
    insert(
        source / "nses/experiment/settings/config.py",
        after='    """Step size of the optimizer."""\n',
        text='    momentum: float = setting(0.9, symbol="momentum", at_least=0, at_most=1)\n'
        '    """Share of the step before that a step keeps."""\n',
    )
    insert(
        source / "nses/core/hyperparameters.py",
        after="    lr: float = 0.01\n",
        text="    momentum: float = 0.9\n",
    )
    done = subprocess.run(
        [
            sys.executable,
            "-P",
            "-c",
            f"import sys; sys.path.insert(0, {str(source)!r})\n{EVERYWHERE}",
        ],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "momentum must be at least 0 and at most 1, got 1.5." in done.stdout
    assert "--momentum FLOAT" in done.stdout
    assert "Share of the step before" in done.stdout


def insert(file: Path, after: str, text: str) -> None:
    before, found, rest = file.read_text().partition(after)
    assert found
    file.write_text(before + found + text + rest)
