import shutil

import pytest

import nses
from nses.experiment.runs import checkpoint, snapshot
from nses.experiment.runs.storage import CheckpointRefused
from nses.experiment.showing.info import facts_of

SETTINGS = {"recipe": "smoke", "backend": "serial", "tensorboard": False, "generations": 2}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return nses.train("point-trap", run_dir=tmp_path_factory.mktemp("run") / "run", **SETTINGS)


@pytest.fixture
def reads(monkeypatch):
    """What is read from now on, of checkpoints and endings."""
    seen = []

    def noted(read):
        return lambda *arguments, **more: seen.append(read.__name__) or read(*arguments, **more)

    monkeypatch.setattr(checkpoint, "load", noted(checkpoint.load))
    monkeypatch.setattr(snapshot, "read_ending", noted(snapshot.read_ending))
    return seen


def test_all_facts_of_a_run_need_one_read_of_its_checkpoint(run, reads):
    facts = facts_of(run)
    assert sorted(reads) == ["load", "read_ending"]
    assert facts["generation"] == "2 of 2, finished"
    assert facts["digest"] == run.digest


def test_nothing_is_read_before_it_is_asked_for(run, reads):
    now = run.look()
    assert reads == []
    assert len(now.records) == 2
    assert reads == []


def test_a_snapshot_stays_the_same_while_a_run_sees_new_files(run, tmp_path):
    copy = nses.load(shutil.copytree(run.path, tmp_path / "copy"))
    now = copy.look()
    assert now.state.generation == 2
    nses.resume(copy.path, generations=3)
    assert now.state.generation == 2
    assert copy.state.generation == 3


def test_a_run_without_checkpoints_has_its_ending_and_no_state(run, tmp_path):
    copy = nses.load(shutil.copytree(run.path, tmp_path / "copy"))
    shutil.rmtree(copy.path / checkpoint.DIRECTORY)
    now = copy.look()
    assert now.best.score == run.best.score
    for _ in range(2):
        with pytest.raises(CheckpointRefused):
            _ = now.state
