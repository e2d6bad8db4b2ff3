"""Candidates may play in another environment than the one that counts."""

import numpy as np
import pytest

import nses
from nses.experiment.analysis.comparison import compare
from nses.experiment.analysis.stories import story_of
from nses.experiment.export import video
from nses.experiment.runs.history import HISTORY
from nses.experiment.runs.log import read_generations
from nses.experiment.settings.build import training_of
from nses.experiment.settings.config import changed
from nses.experiment.showing.charts import learning_of
from nses.experiment.showing.results import conditions_of

SMALL = {
    **{"recipe": "smoke", "generations": 2, "n": 4, "hidden": (4,), "max_steps": 20, "seed": 1},
    **{"tensorboard": False, "pictures": False, "retest_episodes": 2, "backend": "serial"},
}
COARSE = {"substeps": 3}


def train(directory, **settings):
    return nses.train("halfcheetah", run_dir=directory, **SMALL | settings)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return train(tmp_path_factory.mktemp("training") / "run", training_environment=COARSE)


def returns_of_candidates(run):
    return [record["f"] for record in read_generations(run.path / HISTORY)]


def test_candidates_play_there_and_members_in_the_environment_itself(tmp_path):
    mixed = train(tmp_path / "mixed", algorithm="es", training_environment=COARSE)
    coarse = train(tmp_path / "coarse", algorithm="es", environment=COARSE)
    own = train(tmp_path / "own", algorithm="es")
    # One member and equal returns of candidates, so mixed and coarse have the same policies.
    np.testing.assert_array_equal(mixed.state.members[0].theta, coarse.state.members[0].theta)
    assert returns_of_candidates(mixed) == returns_of_candidates(coarse)
    assert returns_of_candidates(mixed) != returns_of_candidates(own)
    assert (mixed.metrics["score"] != coarse.metrics["score"]).all()
    played = nses.evaluate(mixed, "final", episodes=2)
    moved = nses.evaluate(coarse, "final", episodes=2, environment={"substeps": 5})
    np.testing.assert_array_equal(played.returns, moved.returns)


def test_the_bits_do_not_depend_on_workers_or_interruptions(run, tmp_path):
    whole = {"training_environment": COARSE}
    workers = train(tmp_path / "workers", **whole, backend="processes", workers=2)
    train(tmp_path / "parts", **whole | {"generations": 1})
    parts = nses.resume(tmp_path / "parts", generations=2)
    assert run.digest == workers.digest == parts.digest


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A run whose second generation plays in the environment itself."""
    settings = {"training_environment": COARSE, "training_generations": 1}
    return train(tmp_path_factory.mktemp("finished") / "run", **settings)


def test_the_last_candidates_play_in_the_environment_itself(run, finished, monkeypatch):
    first, last = returns_of_candidates(finished)
    elsewhere = returns_of_candidates(run)
    assert first == elsewhere[0]
    assert last != elsewhere[1]  # by the same policies: those of the same first generation
    assert finished.replay(2, candidate=3)["same bits"] is True
    filmed = []
    monkeypatch.setattr(video, "shoot", lambda run, *_: filmed.append(video.visible(run)))
    for policy in ("generation:1:candidate:3", "generation:2:candidate:3"):
        video.render(finished, policy)
    assert [task.make().unwrapped.substeps for task in filmed] == [3, 5]


def test_the_bits_of_the_last_candidates_do_not_depend_on_workers_or_interruptions(
    finished, tmp_path
):
    settings = {"training_environment": COARSE, "training_generations": 1}
    workers = train(tmp_path / "workers", **settings, backend="processes", workers=2)
    train(tmp_path / "parts", **settings | {"generations": 1})
    parts = nses.resume(tmp_path / "parts", generations=2)
    assert finished.digest == workers.digest == parts.digest


@pytest.mark.parametrize("which", [{"candidate": 3}, {"member": 0}])
def test_replays_play_where_the_original_was_played(run, which):
    assert run.replay(2, **which)["same bits"] is True


def test_a_candidate_is_filmed_where_it_played_and_a_member_on_the_task(run, monkeypatch):
    filmed = []
    monkeypatch.setattr(video, "shoot", lambda run, *_: filmed.append(video.visible(run)))
    for policy in ("generation:2:candidate:3", "best"):
        video.render(run, policy)
    assert [task.make().unwrapped.substeps for task in filmed] == [3, 5]
    assert [task.step_limit for task in filmed] == [20, 20]


def test_people_are_told(run):
    assert conditions_of(run) == {"training environment": "substeps=3"}
    (contest,) = compare([run])
    assert (
        "candidates of all runs were trained with training_environment=substeps=3" in contest.notes
    )
    first, *_ = learning_of(story_of(run), "generation").lines
    assert first.label == "candidates, training environment"


def test_a_loop_of_ones_own_does_not_mix_two_tasks():
    config = changed(nses.recipe("halfcheetah", "smoke", "es"), {"training_environment": COARSE})
    task = nses.make_task("swimmer")
    with pytest.raises(ValueError, match="needs a task that is found by its name, got one of your"):
        nses.search_of(config, task).__enter__()
    slow = nses.make_task("halfcheetah", distance="euclidean", max_steps=7)
    training = training_of(config, slow)
    assert (training.distance, training.step_limit) == ("euclidean", 7)


def test_compiled_and_stepped_episodes_agree(run, tmp_path):
    stepped = train(tmp_path / "stepped", training_environment=COARSE, native=False)
    assert stepped.digest == run.digest
