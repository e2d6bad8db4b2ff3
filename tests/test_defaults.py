"""The table of the general settings counts what was solved, and nothing else."""

import pytest
from benchmarks.defaults import (
    CHANGE,
    HEAD,
    PROBLEMS,
    REPORTING,
    SETTINGS,
    TUNING,
    Promising,
    changes,
    table,
)

from nses import StopTraining, recipe


def line(settings, problem, algorithm, seed, solved):
    return (settings, problem, algorithm, str(seed), "1.0", str(solved), "100", "0.5")


def test_the_table_counts_solved_runs():
    rows = [
        line("former", "CartPole", "es", 0, 1),
        line("former", "CartPole", "es", 1, 0),
        line("longer", "maze", "nsra-es", 0, 1),
    ]
    lines = list(table(rows))
    assert lines[0] == "| problem | es, former | nsra-es, longer |"
    assert "| CartPole | 1 of 2 | – |" in lines
    assert "| maze (hard) | – | 1 of 1 |" in lines


def test_two_settings_are_compared_over_the_runs_that_both_have():
    rows = [
        line("former", "CartPole", "es", 0, 0),
        line("former", "CartPole", "es", 1, 0),
        line("former", "maze", "es", 0, 1),
        line("eager", "CartPole", "es", 0, 1),
        line("eager", "maze", "es", 0, 1),
        line("eager", "maze", "es", 1, 1),
    ]
    lines = list(changes(rows, "former", "eager"))
    assert lines[0] == "| former → eager | es |"
    assert "| CartPole | 0 → 1 of 1 |" in lines
    assert lines[-2:] == ["| all hard ones | 1 → 1 of 1 |", "| all | 1 → 2 of 2 |"]


def test_half_of_the_problems_are_hard_and_seeds_of_tuning_and_reporting_are_apart():
    assert sum(problem.hard for problem in PROBLEMS.values()) * 2 >= len(PROBLEMS)
    assert not {*TUNING} & {*REPORTING}
    assert len(line("", "", "", 0, 0)) == len(HEAD)


def test_settings_cost_the_same_number_of_episodes():
    costs = {s["generations"] * (s["n"] + s["evaluation_episodes"]) for s in SETTINGS.values()}
    assert len(costs) == 1


def test_the_settings_that_won_are_those_of_the_general_recipe():
    config = recipe("CartPole-v1", "laptop", "nsra-es")
    assert {name: getattr(config, name) for name in SETTINGS[CHANGE[1]]} == SETTINGS[CHANGE[1]]


def test_a_run_is_tried_once_for_each_best_policy_that_seems_to_solve_the_problem():
    promising = Promising(solved=5.0)
    promising(None, {"best": 4.0})
    with pytest.raises(StopTraining):
        promising(None, {"best": 5.5})
    promising(None, {"best": 5.5})
    with pytest.raises(StopTraining):
        promising(None, {"best": 6.0})
