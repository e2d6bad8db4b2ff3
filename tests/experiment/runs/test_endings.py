"""The end of a run: what is written there, in which order, and what is put back."""

import errno
import os
import shutil

import pytest

import nses
from nses.core.algorithms import Search
from nses.core.archive import archive_of
from nses.experiment.runs import checkpoint, formats
from nses.experiment.runs.storage import StorageFailed

SETTINGS = {"recipe": "smoke", "backend": "serial", "tensorboard": False, "seed": 1}


def train(directory, **settings):
    return nses.train("point-trap", run_dir=directory, **(SETTINGS | settings))


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return train(tmp_path_factory.mktemp("whole") / "run")


@pytest.fixture
def run(whole, tmp_path):
    """A copy of a finished run, to be damaged."""
    return nses.load(shutil.copytree(whole.path, tmp_path / "run"))


def ends(run):
    return [(run.path / name).read_bytes() for name in ("best.safetensors", "archive.safetensors")]


def flip(path):
    data = bytearray(path.read_bytes())
    data[-5] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize("nth", [1, 2])
def test_m1_a_disk_that_fills_up_at_the_end_leaves_a_run_that_resume_completes(
    tmp_path, monkeypatch, whole, nth
):
    tries, really = [], os.replace

    def replace(source, target):
        if str(target).endswith(("best.safetensors", "archive.safetensors")):
            tries.append(target)
            if len(tries) == nth:
                raise OSError(errno.ENOSPC, "No space left on device")
        really(source, target)

    monkeypatch.setattr(os, "replace", replace)
    with pytest.raises(StorageFailed, match="No space left") as error:
        train(tmp_path / "run")
    assert "nses resume" in error.value.__notes__[0]
    assert not nses.load(tmp_path / "run").finished
    resumed = nses.resume(tmp_path / "run")
    assert resumed.finished
    assert ends(resumed) == ends(whole)
    assert resumed.digest == whole.digest


@pytest.mark.parametrize("damage", ["missing", "damaged", "older"])
def test_m1_resume_puts_back_the_archive_of_a_finished_run(run, whole, damage, monkeypatch):
    file = run.path / "archive.safetensors"
    if damage == "older":
        checkpoint.save_archive(file, archive_of(run.state.archive.rows[:-1]))
    elif damage == "damaged":
        flip(file)
    else:
        file.unlink()
    monkeypatch.setattr(Search, "retest", lambda *_: pytest.fail("the best is tested already"))
    assert ends(nses.resume(run.path)) == ends(whole)


def test_m1_a_run_whose_end_is_that_of_fewer_generations_is_not_finished(run, tmp_path):
    old = (run.path / "best.safetensors").read_bytes()
    longer = nses.resume(run.path, generations=7)
    new = ends(longer)
    (longer.path / "best.safetensors").write_bytes(old)  # as if killed just before
    assert not longer.finished
    assert ends(nses.resume(longer.path)) == new


@pytest.mark.parametrize("damage", ["one bit", "cut short", "a directory's worth of nothing"])
def test_m2_resume_says_that_the_best_policy_is_damaged_and_writes_it_again(
    run, whole, caplog, damage
):
    file = run.path / "best.safetensors"
    if damage == "one bit":
        flip(file)
    else:
        file.write_bytes(file.read_bytes()[:100] if damage == "cut short" else b"")
    heard = []
    resumed = nses.resume(run.path, listener=lambda state, record: heard.append(record))
    assert ends(resumed) == ends(whole)
    assert resumed.finished
    assert resumed.digest == whole.digest
    assert not heard
    assert caplog.text.count("best.safetensors was refused") == 1
    assert "written again" in caplog.text


def test_m2_a_best_policy_of_a_newer_format_is_not_overwritten(run, monkeypatch):
    best, extra = checkpoint.load_best(run.path / "best.safetensors")
    with monkeypatch.context() as newer:
        newer.setattr(formats, "FORMAT", 99)
        checkpoint.save_best(run.path / "best.safetensors", best, extra)
    before = ends(run)
    with pytest.raises(formats.NewerFormat, match="install a newer one"):
        nses.resume(run.path)
    assert ends(run) == before


def test_m1_putting_back_the_end_leaves_logs_and_events_alone(tmp_path):
    run = train(tmp_path / "run", tensorboard=True)
    logs = {p: p.stat().st_mtime_ns for p in run.path.rglob("*") if "safetensors" not in p.name}
    (run.path / "best.safetensors").unlink()
    assert nses.resume(run.path).finished
    now = {p: p.stat().st_mtime_ns for p in run.path.rglob("*") if "safetensors" not in p.name}
    assert {p for p in now if p.is_file()} == {p for p in logs if p.is_file()}
    unlocked = [p for p in logs if p.is_file() and p.name != ".lock"]
    assert [now[p] for p in unlocked] == [logs[p] for p in unlocked]
