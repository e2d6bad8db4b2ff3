"""Generations on many CPUs: what must hold for any of them, and cases worked out by hand."""

from dataclasses import replace
from itertools import pairwise
from math import inf

import numpy as np
import pytest

from nses.experiment.analysis.machines import RAY, Cluster, Costs, Tricks, Work
from nses.experiment.analysis.simulation import Simulation, simulate

FREE = Costs(call=0.0, latency=0.0, bandwidth=inf)
CONSTANT = Work(np.array([1.0]), n=100, evaluation_episodes=10)
MIXED = Work(np.linspace(0.1, 2.0, 50), n=200, evaluation_episodes=10, members=3)
SINGLE = Tricks(unit=1)


def on(cpus: int, costs: Costs = FREE, nodes: int = 1) -> Cluster:
    return Cluster(cpus, nodes, costs)


def test_one_cpu_plays_one_episode_after_the_other_and_then_sums_the_gradient():
    work = replace(CONSTANT, gradient=5.0, update=1.0, logs=2.0)
    outcome = simulate(work, on(1))
    assert outcome.generation == pytest.approx(110 + 8)
    assert outcome.efficiency == pytest.approx(110 / 118)
    assert outcome.bottleneck == "gradient"


def test_ten_cpus_play_ten_waves_and_one_of_evaluations():
    outcome = simulate(CONSTANT, on(10), tricks=SINGLE)
    assert outcome.generation == pytest.approx(11.0)
    assert outcome.efficiency == pytest.approx(1.0)


def test_in_units_of_two_an_evaluation_takes_two_episodes():
    outcome = simulate(CONSTANT, on(10), tricks=Tricks(unit=2))
    assert outcome.generation == pytest.approx(10 + 2)
    assert outcome.lost["evaluation"] == pytest.approx(1 / 12, rel=0.01)


def test_with_a_cpu_for_every_candidate_two_episodes_are_the_shortest_generation():
    outcome = simulate(CONSTANT, on(1000), tricks=SINGLE)
    assert outcome.generation == pytest.approx(2.0)
    assert outcome.efficiency == pytest.approx(110 / 2000)


def test_evaluations_of_fresh_selection_come_one_after_the_other():
    assert simulate(replace(CONSTANT, assessments=3), on(100), tricks=SINGLE).generation == (
        pytest.approx(1 + 3)
    )


def test_a_checkpoint_is_written_when_it_is_due():
    work = replace(CONSTANT, checkpoint=4.0)
    assert simulate(work, on(1)).generation == pytest.approx(114)  # longer than its interval
    assert 11 < simulate(work, on(10), tricks=SINGLE).generation < 14


@pytest.mark.parametrize(
    "tricks", [SINGLE, Tricks(unit=2), Tricks(True, 0.9), Tricks(True, 0.5, True)]
)
@pytest.mark.parametrize(("cpus", "nodes", "runs"), [(1, 1, 1), (24, 3, 1), (24, 3, 4), (7, 7, 2)])
def test_no_time_is_won_and_none_is_lost_without_a_cause(tricks, cpus, nodes, runs):
    outcome = simulate(MIXED, on(cpus, RAY, nodes), runs=runs, tricks=tricks, generations=20)
    played = runs * MIXED.useful / (cpus * outcome.generation)
    assert outcome.efficiency == pytest.approx(played, rel=0.05)
    assert 0 < outcome.efficiency <= 1


def test_the_same_seed_gives_the_same_outcome_and_another_one_a_similar_one():
    one, again, other = (simulate(MIXED, on(24, RAY, 3), seed=seed) for seed in (0, 0, 1))
    assert one == again
    assert one != other
    assert one.efficiency == pytest.approx(other.efficiency, abs=0.05)


def test_more_cpus_are_faster_and_less_efficient():
    outcomes = [simulate(MIXED, on(cpus, RAY, -(-cpus // 8))) for cpus in (1, 8, 64, 256)]
    for few, many in pairwise(outcomes):
        assert many.generation < few.generation
        assert many.efficiency < few.efficiency


def test_runs_that_share_cpus_fill_each_others_gaps():
    alone = simulate(MIXED, on(64, RAY, 4))
    shared = simulate(MIXED, on(64, RAY, 4), runs=10)
    assert alone.efficiency < 0.8
    assert shared.efficiency > 0.95
    assert shared.generation < 10 * alone.generation


def test_a_gradient_on_the_nodes_takes_less_time_where_there_are_several():
    work = replace(MIXED, gradient=4.0, parameters=100_000)
    for nodes in (1, 4):
        cluster = on(64, RAY, nodes)
        here, there = (simulate(work, cluster, tricks=Tricks(x)) for x in (False, True))
        won = here.generation - there.generation
        assert won == pytest.approx(0.0 if nodes == 1 else 3.0, abs=0.1)


def test_looking_ahead_fills_the_evaluation_and_where_it_may_the_tail():
    cluster = on(64, RAY, 4)
    ways = [SINGLE, Tricks(foresight=0.9, unit=1), Tricks(foresight=0.9, early=True, unit=1)]
    plain, ahead, early = (simulate(MIXED, cluster, tricks=way, generations=9) for way in ways)
    assert plain.lost["evaluation"] > 0.1
    assert ahead.lost["evaluation"] < 0.02
    assert early.lost["tail"] < ahead.lost["tail"]
    assert plain.efficiency < ahead.efficiency < early.efficiency


def test_wrong_guesses_cost_what_was_played_for_nothing():
    good, bad = (
        simulate(MIXED, on(64, RAY, 4), tricks=Tricks(foresight=p), generations=8)
        for p in (0.9, 0.5)
    )
    assert bad.lost["wrong guesses"] > good.lost["wrong guesses"]
    assert bad.efficiency < good.efficiency


def test_a_slow_link_delays_those_that_get_the_job_last():
    work = replace(CONSTANT, parameters=250_000)  # a million bytes
    slow = simulate(work, on(100, replace(FREE, bandwidth=1e6), 4), tricks=SINGLE)
    assert slow.generation > simulate(work, on(100, FREE, 4), tricks=SINGLE).generation + 4
    assert slow.bytes > 4 * 1e6


def test_results_weigh_little_and_calls_are_few():
    outcome = simulate(replace(MIXED, n=2000), on(64, RAY, 4), tricks=SINGLE)
    assert outcome.calls < 500
    assert outcome.bytes == pytest.approx(2010 * 27 + 4 * 13 * 2010, rel=0.05)


def test_an_evaluation_overtakes_candidates_that_were_begun_ahead_of_their_time():
    work = replace(MIXED, n=2000)
    early = simulate(work, on(16, RAY, 2), tricks=Tricks(foresight=0.5, early=True, unit=1))
    assert early.lost["wrong guesses"] < 0.03  # the time of an evaluation, not half a generation


@pytest.mark.parametrize("cpus", [1, 40])
def test_runs_that_share_cpus_come_forward_together(cpus):
    simulation = Simulation(MIXED, on(cpus, RAY), 5, SINGLE, seed=0)
    simulation.play(3)
    assert max(len(run.ends) for run in simulation.runs) <= 4
