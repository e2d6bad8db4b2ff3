"""What a run directory is read from when something in it is damaged or gone."""

import logging
import platform
import shutil

import numpy as np
import pytest

import nses
from nses.experiment.analysis.stories import story_of
from nses.experiment.runs.storage import CheckpointRefused
from nses.experiment.showing.info import facts_of

SETTINGS = {"recipe": "smoke", "backend": "serial", "tensorboard": False, "seed": 1, "lr": 0.1}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A finished run of ten generations whose best policy came late, with two checkpoints."""
    path = tmp_path_factory.mktemp("whole") / "run"
    run = nses.train("point-trap", run_dir=path, generations=10, **SETTINGS)
    assert run.best.generation > 0
    return run


@pytest.fixture
def run(whole, tmp_path):
    """A copy of it, to be damaged."""
    return nses.load(shutil.copytree(whole.path, tmp_path / "run"))


def flip(path, at=-5):
    """One changed byte."""
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


def damage_newest(run):
    flip(run.path / "checkpoints" / "000010" / "state.safetensors")


def said(caplog):
    return [r.getMessage() for r in caplog.records if r.name == "nses"]


def test_h2_the_best_policy_outlives_a_damaged_checkpoint_that_is_older(run, whole, caplog):
    damage_newest(run)
    theta, moments = run.parameters("best")
    np.testing.assert_array_equal(theta, whole.best.theta)
    np.testing.assert_array_equal(moments.sum, whole.best.moments.sum)
    assert run.retest == whole.retest
    assert nses.evaluate(run, episodes=3).summary == nses.evaluate(whole, episodes=3).summary
    refused, used = said(caplog)
    assert "000010 was refused" in refused
    assert "best.safetensors" in used
    assert "generation 10" in used


@pytest.mark.parametrize("kept", ["checkpoints without any that is valid", "nothing"])
def test_h2_the_best_policy_outlives_all_checkpoints(run, whole, caplog, kept):
    if kept == "nothing":
        shutil.rmtree(run.path / "checkpoints")
    else:
        for manifest in run.path.glob("checkpoints/*/manifest.json"):
            flip(manifest)
    np.testing.assert_array_equal(run.parameters("best")[0], whole.best.theta)
    why = "without checkpoints," if kept == "nothing" else "no valid checkpoint."
    assert why in caplog.text
    assert "best.safetensors of generation 10 is used" in caplog.text
    with pytest.raises(CheckpointRefused, match="no valid checkpoint"):
        run.parameters("member:0")
    with pytest.raises(CheckpointRefused, match="no valid checkpoint"):
        assert run.digest


@pytest.mark.parametrize(
    "read",
    [
        lambda run: run.state,
        lambda run: run.parameters("member:1"),
        lambda run: run.parameters("final"),
        lambda run: run.digest,
    ],
    ids=["state", "member", "final", "digest"],
)
def test_h2_every_reader_says_once_that_it_falls_back(run, caplog, read):
    older = max(x.name for x in (run.path / "checkpoints").glob("0*") if x.name < "000010")
    damage_newest(run)
    read(run)
    read(run)
    refused, used = said(caplog)
    assert "Checkpoint 000010 was refused" in refused
    assert f"Checkpoint {older} is used instead" in used
    assert str(run.path) in used


def test_h2_the_archive_of_the_end_wins_over_that_of_an_older_checkpoint(run, whole, caplog):
    damage_newest(run)
    assert len(run.archive) == len(whole.archive) == 12
    np.testing.assert_array_equal(run.archive.rows, whole.archive.rows)
    refused, used = said(caplog)
    assert "000010 was refused" in refused
    assert "archive.safetensors is used instead" in used
    flip(run.path / "archive.safetensors")
    assert len(run.archive) < 12
    assert "archive.safetensors was refused" in caplog.text


def test_h2_the_archive_outlives_all_checkpoints(run, whole):
    shutil.rmtree(run.path / "checkpoints")
    np.testing.assert_array_equal(run.archive.rows, whole.archive.rows)
    (run.path / "archive.safetensors").unlink()
    with pytest.raises(CheckpointRefused, match="no valid checkpoint"):
        assert run.archive


def test_h2_a_best_policy_that_is_older_than_the_checkpoint_does_not_win(run):
    old = (run.path / "best.safetensors").read_bytes()
    longer = nses.resume(run.path, generations=14)
    (longer.path / "best.safetensors").write_bytes(old)
    assert longer.best.score == longer.state.best.score
    assert not longer.finished


def test_h2_info_and_the_model_card_speak_of_the_policy_that_is_used(run, whole, caplog):
    pytest.importorskip("onnxruntime")
    from nses.experiment.export.onnx import export

    damage_newest(run)
    facts = facts_of(run)
    assert facts["best score"] == whole.best.score
    assert facts["re-test"] == sum(whole.retest) / len(whole.retest)
    assert len(said(caplog)) == len({*said(caplog)})
    caplog.clear()
    run = nses.load(run.path)
    card = export(run).card.read_text()
    assert card == export(whole, directory=run.path / "other").card.read_text()
    assert len(said(caplog)) == 2


def test_h2_an_undamaged_run_is_read_without_a_word(run, caplog):
    facts_of(run)
    story_of(run)
    assert (run.best, run.archive, run.digest, run.retest) is not None
    assert not [r for r in caplog.records if r.levelno >= logging.WARNING]


def test_h2_info_of_a_run_without_checkpoints_does_not_call_it_new(run, whole):
    shutil.rmtree(run.path / "checkpoints")
    facts = facts_of(run)
    assert facts["generation"] == "10 of 10, its checkpoints are gone"
    assert facts["best score"] == whole.best.score


def test_m2_readers_warn_of_a_damaged_best_policy_and_use_the_checkpoint(run, whole, caplog):
    flip(run.path / "best.safetensors")
    before = {path: path.read_bytes() for path in run.path.rglob("*") if path.is_file()}
    facts = facts_of(run)
    assert facts["best score"] == whole.best.score
    np.testing.assert_array_equal(run.parameters("best")[0], whole.best.theta)
    assert story_of(run).ending is None
    (line,) = said(caplog)
    assert "best.safetensors was refused" in line
    assert "nses resume" in line
    assert before == {path: path.read_bytes() for path in run.path.rglob("*") if path.is_file()}


def test_l11_a_run_records_the_c_library_and_an_older_run_without_it_still_matches():
    from nses.execution.versions import current_versions
    from nses.experiment.analysis.comparison import _differ

    assert current_versions()["libc"] == " ".join(platform.libc_ver())
    old, new = {"numpy": "2"}, {"numpy": "2", "libc": "glibc 2.36"}
    assert not _differ([old, new, old])
    assert _differ([old, new, new | {"libc": "glibc 2.40"}])
