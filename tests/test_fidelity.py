"""The page of deviations: what it names exists, and it names what the recipe `authors` changes."""

import re
import shlex
from pathlib import Path

import pytest

from nses.cli.arguments import configuration
from nses.core.algorithms import ALGORITHMS
from nses.experiment.settings.command import changes_of, flags_of
from nses.experiment.settings.config import SETTINGS, changed
from nses.experiment.settings.recipes import recipe

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "fidelity.md"
TEXT = PAGE.read_text(encoding="utf-8")
OPTIONS = sorted({words for words in re.findall(r"`(--[^`]+)`", TEXT) if " " in words})


def test_the_page_is_found_from_the_readme_and_the_map():
    assert "docs/fidelity.md" in (ROOT / "README.md").read_text(encoding="utf-8")
    assert "fidelity.md" in (ROOT / "docs" / "paper-map.md").read_text(encoding="utf-8")


def test_every_flag_on_the_page_is_a_setting():
    flags = set(re.findall(r"`--([a-z0-9-]+)", TEXT))
    assert len(flags) > 15
    assert {flag.replace("-", "_") for flag in flags} <= SETTINGS.keys()


@pytest.mark.parametrize("words", OPTIONS)
def test_every_value_on_the_page_is_taken(words):
    task = "humanoid-trap"
    assert configuration([task, *shlex.split(words)], "train", "").task == task


def test_every_page_it_leads_to_exists():
    links = [link for link in re.findall(r"\]\(([^)]+)\)", TEXT) if "://" not in link]
    assert len(links) > 10
    assert not [link for link in links if not (PAGE.parent / link).is_file()]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("task", ["humanoid", "humanoid-trap", "atari:frostbite", "atari:qbert"])
def test_every_option_of_the_authors_recipe_is_on_the_page(task, algorithm):
    config = recipe(task, "authors", algorithm)
    changes = changes_of(changed(config, {"recipe": "paper"}))
    environment = changes.pop("environment", [])
    pairs = [{name: value} for name, value in changes.items()]
    pairs += [{"environment": [argument]} for argument in environment]
    assert len(pairs) >= 4
    missing = [flags_of(pair) for pair in pairs if shlex.join(flags_of(pair)) not in TEXT]
    assert not missing


def test_what_the_paper_does_not_have_is_off_in_its_recipe():
    section = TEXT.partition("## What neither the paper nor the code has")[2].partition("\n## ")[0]
    options = sorted({words for words in re.findall(r"`(--[^`]+)`", section) if " " in words})
    assert len(options) > 5
    paper = ["humanoid", "--recipe", "paper"]
    without = changes_of(configuration(paper, "train", ""))
    for words in options:
        assert changes_of(configuration([*paper, *shlex.split(words)], "train", "")) != without
