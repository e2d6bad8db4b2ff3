"""The paper's own results, quoted."""

import pytest

from nses.experiment.analysis.paper import COLUMNS, ROWS, captions, departures, quoted
from nses.experiment.runs.document import write_config
from nses.experiment.runs.run import load
from nses.experiment.settings.config import changed
from nses.experiment.settings.recipes import recipe
from nses.rollouts.tasks.bodies import BODY_TASKS
from nses.rollouts.tasks.catalog import ATARI, PAPER_GAMES
from nses.rollouts.tasks.task import Facts
from pretended import BOX


def test_every_task_of_the_paper_has_its_results():
    assert {*ROWS} == {"humanoid", "humanoid-trap", *(ATARI + game for game in PAPER_GAMES)}
    assert {"humanoid", "humanoid-trap"} <= BODY_TASKS.keys()
    assert all(len(row) in (4, len(COLUMNS)) for row in ROWS.values())


@pytest.mark.parametrize("task", ["atari:seaquest", "atari:Seaquest", "atari:SEA_QUEST"])
def test_results_are_quoted_however_a_game_is_spelled(task):
    assert (quoted(task)["es"], quoted(task)["dqn"]) == (960.0, 4163)
    assert "DQN 4163" in captions(task, {"es": ""})[0]


def test_other_tasks_have_none():
    assert quoted("point-trap") == {}
    assert captions("point-trap", {"es": "x"}) == ["The paper has no results for this task."]


def test_groups_without_a_quote_for_the_same_reason_share_a_line():
    lines = captions("atari:seaquest", {"es": "n=60", "ns-es": "n=60", "nsra-es": "k=3"})
    assert lines == ["Not quoted for es, ns-es: n=60.", "Not quoted for nsra-es: k=3."]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({}, ""),
        ({"retest_episodes": 7, "seed": 3, "workers": 2}, ""),
        ({"distance": "squared-euclidean"}, ""),
        ({"distance": "euclidean"}, "distance=euclidean (paper: auto)"),
        ({"hidden": (64, 64)}, "hidden=64 64 (paper: 256 256)"),
        ({"environment": ("reward=forward",)}, "environment=reward=forward (paper: none)"),
        ({"behavior": "final:x"}, "behavior=final:x (paper: auto)"),
        ({"n": 100}, "n=100 (paper: 10000)"),
        ({"sigma": 0.1, "members": 3}, "sigma=0.1 (paper: 0.02), members=3 (paper: 5)"),
        ({"k": 3}, "k=3 (paper: 10)"),
        ({"generations": 600}, "generations=600 (paper: 800)"),
        ({"weight_patience": 10}, "weight_patience=10 (paper: 50)"),
        ({"algorithm": "nsr-es", "weight_patience": 10}, ""),
        ({"task": "swimmer-trap"}, "the paper has no such result"),
    ],
)
def test_every_setting_that_the_paper_fixes_has_to_be_met(change, said, tmp_path):
    config = changed(recipe("humanoid-trap", "paper", "nsra-es"), change)
    write_config(tmp_path, config, Facts(BOX, BOX, 2), False)
    assert departures(load(tmp_path)) == said


def test_a_task_or_a_policy_of_ones_own_is_not_the_papers(tmp_path):
    config = recipe("humanoid-trap", "paper", "es")
    write_config(tmp_path, config, Facts(BOX, BOX, 2), True)
    assert departures(load(tmp_path)) == "a task or a policy of your own"
