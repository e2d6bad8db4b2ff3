"""Which members are updated: those that have got past the trap, or the others."""

import numpy as np
import pytest

from nses.experiment.analysis.allocation import allocation_of, trap_end_of
from nses.experiment.analysis.stories import story_of
from nses.experiment.runs.run import load
from pretended import make_run


def story(path, places, members, **settings):
    """A run in which these members were updated in turn, and ended at these x."""
    make_run(
        path, range(1, len(places) + 1), algorithm="nsr-es", members=1 + max(members),
        behaviors=[[x, 0.0] for x in places], **settings,
    )  # fmt: skip
    told = story_of(load(path))
    for record, m in zip(told.records, members, strict=True):
        record["member"] = m
    return told


def test_a_member_counts_from_the_update_after_that_which_took_it_past_the_trap(tmp_path):
    run = story(tmp_path / "a", [1.0, 9.0, 9.0, 2.0, 2.0, 9.0], [0, 1, 1, 1, 1, 0])
    shares = allocation_of([run], trap_end=5.0)
    assert shares.generation.tolist() == [1, 2, 3, 4, 5, 6]
    assert shares.updates.tolist() == [0, 0, 1, 1, 0, 0]
    assert shares.members.tolist() == [0, 0, 0.5, 0.5, 0, 0]


def test_shares_are_means_over_the_runs_that_got_so_far(tmp_path):
    long = story(tmp_path / "a", [9.0, 9.0, 9.0], [0, 0, 1])
    short = story(tmp_path / "b", [1.0, 1.0], [0, 1])
    shares = allocation_of([long, short], trap_end=5.0)
    assert shares.updates.tolist() == [0.0, 0.5, 0.0]
    assert shares.members.tolist() == [0.0, 0.25, 0.5]


def test_shares_are_averaged_over_the_last_twentieth_of_the_generations(tmp_path):
    places, members = [9.0] * 40, [0, 1] * 20
    places[1::2] = [1.0] * 20
    shares = allocation_of([story(tmp_path / "a", places, members)], trap_end=5.0)
    assert shares.updates[:4].tolist() == [0, 0, 0.5, 0.5]
    assert shares.updates[4:] == pytest.approx(np.full(36, 0.5))


def test_a_behavior_that_is_missing_leaves_a_member_where_it_was(tmp_path):
    run = story(tmp_path / "a", [9.0, 1.0, 9.0], [0, 0, 0])
    run.records[1]["behavior"] = [None, None]
    assert allocation_of([run], trap_end=5.0).updates.tolist() == [0, 1, 1]


def test_only_tasks_with_a_trap_have_an_end_of_it(tmp_path):
    ends = {
        task: trap_end_of(make_run(tmp_path / task, [1.0], task=task))
        for task in ("point-trap", "swimmer-trap", "point", "CartPole-v1")
    }
    expected = {"point-trap": 5.7, "swimmer-trap": 4.6, "point": None, "CartPole-v1": None}
    assert ends == {task: x if x is None else pytest.approx(x) for task, x in expected.items()}
