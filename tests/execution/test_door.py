"""Machines that compute differently are noticed before they play."""

from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest

import environments
from batches import plan_of
from environments import drift, late_start
from nses.core.noise import fill_table
from nses.errors import TaskBroken
from nses.execution.door import Numerics, Trial, changed_files, checksum, differences
from nses.rollouts.tasks.catalog import make_task
from traced import traced_plan

HERE = Numerics({"numpy": "2.4.6", "cpu": "Model T"}, "abc", 7, {"core/noise.py": "12"})


def test_p11_what_differs_is_named():
    assert differences(HERE, HERE) == []
    versions = {"numpy": "2.5.0", "cpu": "Model T", "libc": "musl"}
    there = Numerics(versions, "abd", 8, {"core/noise.py": "21"})
    assert differences(HERE, there) == [
        "numpy is 2.5.0 there and 2.4.6 here",
        "libc is musl there and missing here",
        "nses has other code there, in core/noise.py",
        "the same episodes end differently there",
        "the noise table has different numbers there",
    ]


def test_p11_files_that_differ_are_named_and_many_are_counted():
    here = {f"{letter}.py": "1" for letter in "abcdef"}
    assert changed_files(here, dict(here)) == ""
    assert changed_files(here, here | {"c.py": "2"}) == "c.py"
    assert changed_files(here, here | {"new.py": "2"}) == "new.py"
    assert changed_files(here, {}) == "a.py, b.py, c.py, 3 more"
    assert changed_files(here, 4711) == "a.py, b.py, c.py, 3 more"  # as an older nses answers


def test_the_checksum_sees_every_number_of_the_table():
    table = np.empty(1 << 10, np.float32)
    fill_table(table, 3)
    before = checksum(table)
    table[-1] = np.nextafter(table[-1], np.float32(9))
    assert checksum(table) != before


def digest_of(plan) -> str:  # type: ignore[no-untyped-def]
    with closing(Trial(plan)) as trial:
        return trial.digest()


def test_p11_trials_agree_where_nothing_differs_and_see_a_small_difference():
    plan = plan_of(make_task("point-trap"))
    assert digest_of(plan) == digest_of(plan)
    assert digest_of(plan) != digest_of(replace(plan, action_noise=0.1001))


def test_a_trial_plays_what_counts_wherever_candidates_play():
    plan = plan_of(make_task("point-trap"))
    training = make_task("point-trap", max_steps=10**6)  # it would take too long
    assert digest_of(replace(plan, training=training)) == digest_of(plan)


def test_a_trial_works_for_traces_too():
    assert len(digest_of(traced_plan())) == 64


def test_a_task_that_cannot_be_set_up_says_why():
    plan = plan_of(late_start(environments.refuse))
    with closing(Trial(plan)) as trial, pytest.raises(TaskBroken, match="no licence for worker 7"):
        trial.digest()


def test_long_episodes_are_cut_short():
    plan = plan_of(drift().revised(step_limit=10**9))
    with closing(Trial(plan)) as trial:
        assert trial.plan.task.step_limit == 200
