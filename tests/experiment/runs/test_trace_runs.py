"""Runs whose behaviors are traces, from the first generation to the last, and their memory."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nses
from nses.core.novelty import novelty
from nses.experiment.runs.checkpoint import load_archive
from nses.experiment.showing.info import facts_of
from nses.rollouts.behaviors import parse_behavior
from troubled import Calm, Remembering

TASK = nses.Task("remembering", Remembering, parse_behavior("trace:memory"), 10, distance="ram")
SMALL = {"seed": 1, "recipe": "smoke", "n": 8, "tensorboard": False, "retest_episodes": 2}


def train(directory: Path, task: nses.Task = TASK, **settings: Any) -> nses.Run:
    return nses.train(task, run_dir=directory, **({"backend": "serial"} | SMALL | settings))


def test_a_run_remembers_one_trace_a_generation(tmp_path: Path) -> None:
    run = train(tmp_path / "run", generations=6, members=3)
    state = run.state
    assert len(state.archive) == len(state.archive.traces) == 3 + 6
    assert len({len(b) for b in state.archive.traces}) > 2  # E15
    last = state.members[run.metrics[-1]["member"]].behavior
    np.testing.assert_array_equal(state.archive.traces[-1], last)
    assert [r["behavior"] for r in run.metrics] == [[]] * 6
    assert all(r["novelty_mean"] > 0 for r in run.metrics)
    b = [member.behavior for member in state.members]
    assert (novelty(b, state.archive, 5, "ram") > 0).all()
    kept = load_archive(run.path / "archive.safetensors")
    for x, y in zip(kept.traces, state.archive.traces, strict=True):
        np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("distance", ["ram", "ram-total"])
def test_the_same_run_goes_on_from_a_checkpoint_and_in_workers(
    tmp_path: Path, distance: str
) -> None:
    settings = {"distance": distance, "selection": "fresh"}
    whole = train(tmp_path / "whole", generations=4, **settings)
    train(tmp_path / "parts", generations=2, **settings)
    resumed = nses.resume(tmp_path / "parts", TASK, generations=4, backend="processes", workers=2)
    assert resumed.digest == whole.digest
    assert resumed.config.distance == distance
    assert resumed.retest == whole.retest


def test_the_two_distances_make_different_runs(tmp_path: Path) -> None:
    settings = {"algorithm": "ns-es", "generations": 3}
    runs = [train(tmp_path / d, distance=d, **settings) for d in ("ram", "ram-total")]
    assert runs[0].digest != runs[1].digest


def test_evaluate_and_info_know_traces(tmp_path: Path) -> None:
    run = train(tmp_path / "run", generations=1)
    tested = nses.evaluate(run, task=TASK, episodes=3)
    assert tested.behaviors.dtype == np.uint8
    assert tested.behaviors.shape == (tested.lengths[0], 8)
    assert json.loads(json.dumps(tested.summary))["behaviors"] == []
    assert facts_of(run)["archive"] == 3


def test_a_distance_that_does_not_fit_the_behavior_is_refused_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="vectors, distance must be squared-euclidean or euclid"):
        nses.train("point-trap", distance="ram", run_dir=tmp_path / "run", **SMALL)
    with pytest.raises(ValueError, match="traces, distance must be ram or ram-total, got 'eucl"):
        train(tmp_path / "run", distance="euclidean")
    assert not (tmp_path / "run").exists()


def test_ask_and_tell_take_traces() -> None:
    def evaluate(theta: np.ndarray) -> tuple[float, np.ndarray]:
        x = float(np.mean(theta))
        steps = 2 + int(abs(10 * x)) % 5
        return -x * x, np.full((steps, 3), np.clip(100 + 100 * x, 0, 255), np.uint8)

    def play() -> nses.Strategy:
        strategy = nses.Strategy("nsra-es", np.zeros(4), n=10, sigma=0.5, distance="ram", weight=0)
        for generation in range(5):
            results = [evaluate(theta) for theta in strategy.ask()]
            f, b = ([x[i] for x in results] for i in (0, 1))
            f[-1] = np.nan if generation else f[-1]
            strategy.tell(f, b)
            for trace in b:
                trace[:] = 0  # the caller's own again
        return strategy

    strategy = play()
    assert len(strategy.archive.traces) == 5 + 4
    assert any(trace.any() for trace in strategy.archive.traces)
    assert strategy.best.behavior.any()
    np.testing.assert_array_equal(strategy.members[0].theta, play().members[0].theta)
    strategy.ask()
    with pytest.raises(ValueError, match="a trace must be"):
        strategy.tell(np.zeros(11), [np.zeros(3)] * 11)


# E14: the memory of the archive.


def test_tasks_with_traces_pass_their_check() -> None:
    nses.check_task(TASK)
    with pytest.raises(ValueError, match="traces, distance must be ram or ram-total"):
        nses.check_task(replace(TASK, distance="euclidean"))
    with pytest.raises(ValueError, match="vectors, distance must be"):
        nses.check_task(nses.Task("calm", Calm, parse_behavior("final-observation"), 10, "ram"))
