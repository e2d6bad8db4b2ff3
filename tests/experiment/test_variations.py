"""Tasks with finitely many starts: exact scores, and variations of the task to test in."""

import json

import numpy as np
import pytest

import nses
from nses.core.seeding import Purpose, episode_seeds
from nses.experiment.evaluate import evaluate
from nses.experiment.runs.replay import answer, play, rebuild
from nses.rollouts.tasks.catalog import make_task

STARTS = (5, 3, 8)
SMALL = {
    **{"recipe": "smoke", "generations": 3, "n": 8, "tensorboard": False, "backend": "serial"},
    **{"algorithm": "nsr-es", "evaluation_episodes": 4, "retest_episodes": 3},
}
POINT = make_task("point-trap")
NARROW = make_task("point-trap", half_width=1.5)
FINITE = POINT.revised(starts=STARTS, variations={"narrow": NARROW})


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return nses.train(FINITE, run_dir=tmp_path_factory.mktemp("finite") / "run", **SMALL)


def returns_of(run, task, seeds):
    theta, moments = run.parameters("best")
    player = nses.rollouts.episode.player(task, run.family)
    return [player.play(theta, moments, int(seed)).f for seed in seeds]


def test_every_start_is_played_once_and_the_score_is_that_of_any_seed(run):
    assert run.exact
    tested = [evaluate(run, episodes=n, seed=seed, task=FINITE) for n, seed in ((3, 0), (9, 7))]
    assert tested[0].returns.tolist() == tested[1].returns.tolist() == run.retest
    assert run.retest == returns_of(run, FINITE, STARTS)
    assert run.best.score == pytest.approx(np.mean(run.retest), rel=1e-15)
    assert all(
        t.exact and "over all 3 starts of an episode, so it is exact" in str(t) for t in tested
    )
    assert tested[0].summary["exact"] is True
    assert tested[1].summary["episodes"] == 3


def test_fewer_episodes_than_starts_are_drawn(run):
    tested = [evaluate(run, episodes=2, seed=seed, task=FINITE) for seed in (0, 1)]
    assert tested[0].returns.tolist() != tested[1].returns.tolist()
    assert not any(t.exact for t in tested)
    assert "over 2 fresh episodes" in str(tested[0])


def test_the_best_policy_is_tested_in_variations_of_the_task(run):
    seeds = episode_seeds(run.config.seed, 0, 1, Purpose.RETEST, 3)
    assert run.variations == {"narrow": returns_of(run, NARROW, seeds)}


@pytest.mark.parametrize(
    "settings", [{"behavior": "trajectory:x,y"}, {"backend": "processes", "workers": 2}]
)
def test_neither_workers_nor_behaviors_of_another_size_change_its_returns_there(tmp_path, settings):
    run = nses.train(FINITE, run_dir=tmp_path / "run", **SMALL | settings)
    seeds = episode_seeds(run.config.seed, 0, 1, Purpose.RETEST, 3)
    assert run.variations == {"narrow": returns_of(run, NARROW, seeds)}


@pytest.mark.parametrize("generation", [0, 1, 3])
def test_a_run_replays_to_what_it_logged(run, generation):
    past = rebuild(run, generation)
    assert sorted(past.episodes.seeds.tolist()) == sorted(STARTS)
    if generation:
        assert answer(past, play(run, past, FINITE))["same bits"]


def test_runs_that_did_not_know_the_starts_go_on_and_replay_as_they_were_begun(tmp_path):
    old = nses.train(POINT, run_dir=tmp_path / "old", **SMALL | {"generations": 2})
    file = old.path / "config.json"
    document = json.loads(file.read_text())
    assert document.pop("starts") == []
    file.write_text(json.dumps(document))
    resumed = nses.resume(old.path, FINITE, generations=3)
    whole = nses.train(POINT, run_dir=tmp_path / "whole", **SMALL)
    assert (resumed.digest, resumed.retest) == (whole.digest, whole.retest)
    assert not resumed.exact
    past = rebuild(resumed, 3)
    assert len(past.episodes.seeds) == SMALL["evaluation_episodes"]
    assert answer(past, play(resumed, past, FINITE))["same bits"]


def test_with_too_few_episodes_for_all_starts_a_run_keeps_its_bits(run, tmp_path):
    few = SMALL | {"evaluation_episodes": 2}
    runs = [
        nses.train(task, run_dir=tmp_path / str(i), **few) for i, task in enumerate([POINT, FINITE])
    ]
    assert runs[0].digest == runs[1].digest != run.digest
    assert not runs[1].exact
    assert (len(runs[1].retest), len(runs[1].variations)) == (3, 1)  # which are enough


def test_a_setting_of_the_environment_can_differ_from_that_of_the_run(tmp_path):
    run = nses.train("point-trap", run_dir=tmp_path / "run", **SMALL)
    plain, same, other = (
        evaluate(run, episodes=5, environment=x).returns.tolist()
        for x in (None, {"half_width": 1.75}, {"half_width": 0.5})
    )
    assert plain == same != other
    with pytest.raises(ValueError, match="half_width"):
        evaluate(run, environment={"half_width": -1})
    with pytest.raises(ValueError, match="takes no environment arguments"):
        evaluate(run, task=POINT, environment={"half_width": 1.5})


def test_a_stopped_variation_leaves_a_run_to_be_resumed(run, tmp_path, monkeypatch):
    def fail(*_):
        raise RuntimeError("no variations today")

    monkeypatch.setattr("nses.experiment.train.returns_in_variations", fail)
    with pytest.raises(RuntimeError, match="today"):
        nses.train(FINITE, run_dir=tmp_path / "run", **SMALL)
    assert not nses.load(tmp_path / "run").finished
    monkeypatch.undo()
    resumed = nses.resume(tmp_path / "run", FINITE)
    assert (resumed.digest, resumed.variations) == (run.digest, run.variations)
