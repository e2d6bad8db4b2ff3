"""Whole searches and runs give the same bits whether or not workers look ahead."""

from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import nses
import toy
from nses.core.algorithms import ALGORITHMS
from nses.core.noise import fill_table, table_size
from nses.core.values import State
from nses.execution import clock
from nses.execution.backends import BACKENDS
from nses.execution.sharing import alone
from nses.experiment.settings.build import (
    largest_call,
    plan_of,
    policy_of,
    search_with,
    setup_of,
    task_of,
)
from nses.experiment.settings.config import Config, changed
from nses.experiment.settings.recipes import recipe
from nses.experiment.showing.info import facts_of
from nses.rollouts.episode import never

pytestmark = pytest.mark.usefixtures("however_brief")


@pytest.fixture
def however_brief(monkeypatch: pytest.MonkeyPatch) -> None:
    """Episodes of a fraction of a millisecond are played ahead as well."""
    monkeypatch.setattr(clock, "BRIEF", 0.0)


TASKS: list[tuple[str, dict[str, Any]]] = [
    ("point-trap", {}),
    ("CartPole-v1", {"behavior": "final-observation:0,2", "max_steps": 100}),
]


def settings_of(task: str, algorithm: str, given: dict[str, Any]) -> Config:
    config = changed(recipe(task, "smoke", algorithm), given)
    return replace(config, workers=2, backend="processes", seed=3, look_ahead=True)


@pytest.mark.parametrize(("task", "given"), TASKS, ids=[name for name, _ in TASKS])
def test_all_algorithms_learn_the_same_with_and_without(task: str, given: dict[str, Any]):
    """One pool for all of them, as starting it takes the most time."""
    config = settings_of(task, "nsra-es", given)
    made = task_of(config)
    policy = policy_of(config, made.facts)
    plan = plan_of(config, made, policy)
    setup = setup_of(config, table_size(policy.size), largest_call(config), never, alone)
    guesses = []
    serial, row = BACKENDS["serial"].start(plan, setup), BACKENDS["processes"]
    with closing(serial), closing(row.start(plan, setup)) as ahead:
        for backend in (serial, ahead):
            fill_table(backend.noise, config.seed)
        for name in ALGORITHMS:
            config = settings_of(task, name, given)
            one, other = (
                search_with(config, policy, made.distance, backend.noise, backend)
                for backend in (serial, ahead)
            )
            other = replace(other, foresee=row.foresee(ahead))
            last: list[State] = []
            for search in (one, other):
                generations = list(search.run(generations=4))
                guesses += [report.evaluation.foreseen for _, report in generations]
                last.append(generations[-1][0])
            assert toy.everything(last[0]) == toy.everything(last[1])
    assert guesses.count(True) >= 4  # those of ES at least
    assert None in guesses


def test_a_run_that_looks_ahead_is_resumed_without_and_the_digest_is_that_of_serial(tmp_path: Path):
    small = {"recipe": "smoke", "seed": 3, "tensorboard": False, "pictures": False}
    serial = nses.train("point-trap", backend="serial", run_dir=tmp_path / "s", **small)
    T = len(serial.metrics)
    ahead = {"workers": 2, "look_ahead": True, "generations": T - 1}
    nses.train("point-trap", run_dir=tmp_path / "a", **ahead, **small)
    run = nses.resume(tmp_path / "a", generations=T, look_ahead=False)
    facts = [facts_of(r) for r in (serial, run)]
    assert facts[0]["digest"] == facts[1]["digest"]
    assert "guesses were right" in facts[1]["looking ahead"]
    assert facts[1]["workers idle"].endswith("% of the time")
    assert "foreseen" not in serial.metrics[-1]
    assert "foreseen" not in run.metrics[-1]
    assert {record.get("foreseen") for record in run.metrics} <= {True, False, None}
    assert all(0 <= record.get("idle", 0.0) <= 1 for record in run.metrics[1:-1])
