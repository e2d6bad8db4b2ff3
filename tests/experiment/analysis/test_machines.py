"""What a simulation of many CPUs starts from and comes to."""

from dataclasses import replace

import numpy as np
import pytest

from nses.experiment.analysis.machines import CAUSES, Cluster, Outcome, Work, lasting

WORK = Work(np.array([1.0, 3.0]), n=100, evaluation_episodes=10, assessments=2, parameters=1000)


def test_cpus_are_spread_evenly_over_nodes():
    assert Cluster(1000, 16).sizes == [63] * 8 + [62] * 8
    assert Cluster(5).sizes == [5]


def test_useful_time_is_that_of_candidates_and_all_evaluations():
    assert WORK.episodes == 120
    assert WORK.useful == 240.0
    assert lasting(WORK, 5.0).useful == 600.0


def test_a_job_carries_parameters_candidates_and_a_new_behavior():
    assert WORK.job_bytes(100) == 4 * 1000 + 13 * 100 + 16


def test_the_bottleneck_is_what_most_is_lost_to():
    outcome = Outcome(Cluster(10), 1, 7.2, 0.9, 0, 0, {"tail": 0.02, "gradient": 0.08})
    assert outcome.bottleneck == "gradient"
    assert outcome.cause == CAUSES["gradient"]
    assert replace(outcome, lost={}).bottleneck == "nothing"


def test_core_hours_of_a_run_are_its_part_of_all_cpus():
    alone = Outcome(Cluster(10), 1, 7.2, 1.0, 0, 0)
    assert alone.core_hours(100) == pytest.approx(2.0)
    assert replace(alone, runs=4).core_hours(100) == pytest.approx(0.5)
