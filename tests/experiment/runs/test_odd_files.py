"""M9: no pipe, device or terabyte in the place of a file of a run is waited for or read."""

import os

import pytest

from bounded import ODD, bounded, replace_by
from nses.experiment.analysis.gather import refuse_odd
from nses.experiment.analysis.live import Watcher
from nses.experiment.analysis.stories import story_of
from nses.experiment.fleet import reached
from nses.experiment.runs.history import read_history
from nses.experiment.runs.log import GenerationLog
from nses.experiment.runs.run import load
from nses.experiment.runs.storage import CheckpointRefused, DirectoryLock, StorageFailed
from pretended import pretend

READ = ("config.json", "metrics.jsonl", "best.safetensors")


@pytest.mark.parametrize("kind", ODD)
@pytest.mark.parametrize("name", READ)
def test_m9_an_odd_file_in_the_place_of_one_of_a_run_is_refused(tmp_path, name, kind):
    run = pretend(tmp_path / "run")
    replace_by(run.path / name, kind)
    with bounded(), pytest.raises(CheckpointRefused, match=name.partition(".")[0]):
        refuse_odd(story_of(load(run.path)))


@pytest.mark.parametrize("kind", ODD)
@pytest.mark.parametrize("name", [*READ, ".lock"])
def test_m9_the_dashboard_names_an_odd_file_and_shows_the_other_runs(tmp_path, name, kind):
    pretend(tmp_path / "well")
    run = pretend(tmp_path / "odd", generation=2, total=3 if name == ".lock" else 2)
    replace_by(run.path / name, kind)
    with bounded():
        view = Watcher([tmp_path]).look()
    shown = {os.path.basename(r.name) for r in view.runs}
    if (name, kind) == (".lock", "terabyte"):  # of which only the beginning counts
        assert shown == {"well", "odd"}
        return
    assert shown == {"well"}
    if (name, kind) != ("config.json", "directory"):  # which makes it none of a run
        assert any(str(run.path) in fault for fault in view.faults)


@pytest.mark.parametrize("kind", ODD)
def test_m9_an_odd_lock_is_not_waited_for(tmp_path, kind):
    replace_by(tmp_path / ".lock", kind)
    with bounded():
        if kind == "terabyte":  # is a file as any other, and is cut
            DirectoryLock(tmp_path).close()
        else:
            with pytest.raises(StorageFailed, match=r"could not write .*\.lock"):
                DirectoryLock(tmp_path)


@pytest.mark.parametrize("kind", ODD)
def test_m9_an_odd_log_is_neither_continued_nor_replayed_nor_followed(tmp_path, kind):
    path = tmp_path / "metrics.jsonl"
    replace_by(path, kind)
    with bounded():
        with pytest.raises(CheckpointRefused, match="metrics"):
            GenerationLog(path, 0)
        with pytest.raises(CheckpointRefused, match="metrics"):
            list(read_history(path, 1, 2, 0, at_most=9))
        assert reached(tmp_path).generation == 0


def test_m9_a_line_without_an_end_is_not_read_to_its_end(tmp_path):
    run = pretend(tmp_path / "run", generation=2, total=3)
    os.truncate(run.path / "metrics.jsonl", 1 << 30)
    with bounded(memory=512 << 20):
        with pytest.raises(CheckpointRefused, match="line"):
            story_of(run)
        view = Watcher([tmp_path]).look()
    assert "line" in view.faults[0]
