"""A user's own policy, one that counts its steps, through all that can be done with a run."""

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import nses
from environments import Drift, drift
from nses.core.moments import Moments
from nses.errors import CheckpointRefused, UsageError
from nses.experiment.runs.replay import answer, play, rebuild

SETTINGS: dict[str, Any] = {
    "recipe": "smoke",
    "generations": 4,
    "backend": "serial",
    "tensorboard": False,
    "pictures": False,
}
STEPS: list[int] = []  # how far each function of `bind` has counted in this process


@dataclass(frozen=True)
class Counting:
    """Adds up its observations, and turns with the number of the step: two kinds of memory."""

    observation_size: int = 3

    @property
    def size(self) -> int:
        return self.observation_size + 1

    @property
    def moments_size(self) -> int:
        return self.observation_size

    def init(self, rng: np.random.Generator) -> NDArray[np.float32]:
        return rng.standard_normal(self.size, np.float32)

    def bind(
        self, theta: NDArray[np.float32], moments: Moments
    ) -> Callable[[NDArray[np.float64]], NDArray[np.float32]]:
        seen, steps, mean = np.zeros(self.observation_size), 0, moments.mean
        STEPS.append(0)
        place = len(STEPS) - 1

        def act(observation: NDArray[np.float64]) -> NDArray[np.float32]:
            nonlocal seen, steps
            seen, steps = seen + observation - mean, steps + 1
            STEPS[place] = steps
            return np.array([theta[:-1] @ seen + theta[-1] * np.sin(steps)], np.float32)

        return act


@pytest.fixture(autouse=True)
def _no_steps_of_others():
    STEPS.clear()


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    path = tmp_path_factory.mktemp("own") / "run"
    return nses.train(drift(), policy=Counting(), run_dir=path, seed=3, **SETTINGS)


def test_two_workers_give_the_same_bits(trained, tmp_path):
    settings: dict[str, Any] = SETTINGS | {"backend": "processes", "workers": 2}
    run = nses.train(drift(), policy=Counting(), run_dir=tmp_path / "run", seed=3, **settings)
    assert run.digest == trained.digest


def test_a_stopped_run_is_resumed_with_the_policy_to_the_same_bits(trained, tmp_path):
    settings: dict[str, Any] = SETTINGS | {"generations": 2}
    nses.train(drift(), policy=Counting(), run_dir=tmp_path / "run", seed=3, **settings)
    run = nses.resume(tmp_path / "run", task=drift(), policy=Counting(), generations=4)
    assert run.digest == trained.digest
    assert run.finished


def test_bind_is_called_once_at_the_beginning_of_every_episode(trained):
    tested = nses.evaluate(trained, episodes=4, task=drift())
    played = [steps for steps in STEPS if steps > 1]  # one step is a look at the shapes
    assert played == tested.lengths.tolist()


def test_the_past_is_rebuilt_and_replayed_to_the_bit(trained):
    for which in ({"candidate": 5}, {}):
        past = rebuild(trained, 3, **which)
        assert answer(past, play(trained, past, drift()))["same bits"] is True


def test_a_trained_policy_acts_as_in_an_episode_and_begins_anew_when_asked(trained):
    policy, environment = trained.policy("final"), Drift()
    returns = []
    for _ in range(2):
        policy.reset()
        observation, _ = environment.reset(seed=7)
        total, end = 0.0, False
        while not end:
            observation, reward, end, _, _ = environment.step(policy(observation))
            total += reward
        returns.append(total)
    assert returns[0] == returns[1]


def test_a_run_says_whose_policy_it_needs(trained):
    run = nses.load(trained.path)
    assert run.own_policy.endswith(".Counting")
    assert run.metrics  # what needs no policy works without
    for needs in (
        lambda: run.policy("best"),
        lambda: nses.evaluate(run, task=drift()),
        lambda: nses.resume(trained.path, task=drift(), generations=5),
    ):
        with pytest.raises(UsageError, match=r"Counting.*nses\.load\(run_dir, policy=\.\.\.\)"):
            needs()
    assert nses.load(trained.path, policy=Counting()).policy("best") is not None


def test_another_policy_does_not_continue_the_run(trained):
    settings: dict[str, Any] = SETTINGS | {"run_dir": trained.path, "seed": 3, "generations": 9}
    with pytest.raises(CheckpointRefused, match=r"policy: built-in given, \S*Counting stored"):
        nses.train(drift(), **settings)
    longer = drift()

    class Longer(Counting):
        @property
        def size(self) -> int:
            return super().size + 1

        def bind(self, theta, moments):
            return super().bind(theta[1:], moments)

    with pytest.raises(CheckpointRefused, match="parameters: 5 given, 4 stored"):
        nses.train(longer, policy=Longer(), **settings)


def test_a_policy_is_not_forced_upon_a_run_with_a_built_in_one(tmp_path):
    settings: dict[str, Any] = SETTINGS | {"generations": 1}
    nses.train(drift(), run_dir=tmp_path / "run", **settings)
    with pytest.raises(UsageError, match="built-in policy; load it without"):
        nses.load(tmp_path / "run", policy=Counting())


def test_a_policy_that_does_not_fit_is_refused_before_anything_is_written(tmp_path):
    with pytest.raises(UsageError, match="observation_size is 2; make it 3"):
        nses.train(drift(), policy=Counting(2), run_dir=tmp_path / "run", **SETTINGS)
    assert not os.listdir(tmp_path)


def test_a_search_of_ones_own_loop_takes_the_policy(trained):
    config = replace(trained.config, workers=1)
    task = drift()
    with nses.search_of(config, task, policy=Counting()) as search:
        *_, (state, _) = search.run(generations=4)
    for ours, theirs in zip(state.members, trained.state.members, strict=True):
        np.testing.assert_array_equal(ours.theta, theirs.theta)


def test_a_changed_source_of_the_policy_is_recorded(trained):
    document = json.loads((trained.path / "config.json").read_text())
    assert len(document["sources"]["policy"]) == 64
