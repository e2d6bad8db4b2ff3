"""The paper's own results, quoted."""

import pytest

from nses.experiment.analysis.paper import COLUMNS, ROWS, caption, quoted
from nses.rollouts.tasks.catalog import ATARI, BODIES, PAPER_GAMES


def test_every_task_of_the_paper_has_its_results():
    assert {*ROWS} == {"humanoid", "humanoid-trap", *(ATARI + game for game in PAPER_GAMES)}
    assert {"humanoid", "humanoid-trap"} <= BODIES.keys()
    assert all(len(row) in (4, len(COLUMNS)) for row in ROWS.values())


@pytest.mark.parametrize("task", ["atari:seaquest", "atari:Seaquest", "atari:SEA_QUEST"])
def test_results_are_quoted_however_a_game_is_spelled(task):
    assert (quoted(task)["es"], quoted(task)["dqn"]) == (960.0, 4163)
    assert "DQN 4163" in caption(task)


def test_other_tasks_have_none():
    assert quoted("point-trap") == {}
    assert caption("point-trap") == "The paper has no results for this task."
