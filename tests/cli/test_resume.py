"""`nses resume`: what is continued, and how it exits where nothing can be."""

import json
import os
import shutil
from pathlib import Path

import pytest

import nses
from commands import SMOKE, call

pytestmark = pytest.mark.usefixtures("own_folder")


def test_s5_a_run_without_a_valid_checkpoint_exits_with_3(capsys, run_dir):
    for file in Path(run_dir).rglob("state.safetensors"):
        file.write_bytes(b"x" + file.read_bytes()[1:])
    code, _, err = call(capsys, "resume", run_dir, "--generations", "6")
    assert code == 3
    assert "valid checkpoint" in err


def test_s7_a_run_of_a_newer_format_exits_with_3(capsys, run_dir):
    file = Path(run_dir, "config.json")
    file.write_text(json.dumps(json.loads(file.read_text()) | {"format": 99}))
    code, _, err = call(capsys, "info", run_dir)
    assert code == 3
    assert "install a newer one" in err


def test_resume_extends_a_run_exactly(capsys, run_dir):
    assert call(capsys, "resume", run_dir, "--generations", "8")[0] == 0
    assert (
        call(capsys, "train", "point-trap", *SMOKE, "--generations", "8", "--run-dir", "w")[0] == 0
    )
    assert nses.load(run_dir).digest == nses.load("w").digest


def test_a_directory_that_is_no_run_exits_with_2(capsys):
    for command in ("resume", "evaluate", "info"):
        code, _, err = call(capsys, command, "nowhere")
        assert code == 2
        assert "is not a run" in err


@pytest.mark.parametrize(
    "lost", ["curve.png", "overhead.pdf", "report.html", "the end of the page"]
)
def test_m1_resume_draws_the_pictures_that_a_run_did_not_come_to(capsys, monkeypatch, lost):
    drawn = []

    def draw(run):
        drawn.append(run)
        for name in ("curve.png", "curve.pdf", "overhead.png", "overhead.pdf", "report.html"):
            (run.path / name).touch()

    monkeypatch.setattr("nses.experiment.showing.publish.draw_run", draw)
    flags = [*SMOKE, "--generations", "1", "--pictures", "--run-dir", "shown"]
    assert call(capsys, "train", "point-trap", *flags)[0] == 0
    assert call(capsys, "resume", "shown")[0] == 0
    assert len(drawn) == 1  # nothing was missing
    if lost == "the end of the page":  # of a run that was extended: that of its first end
        os.utime("shown/report.html", (0, 0))
    else:
        Path("shown", lost).unlink()
    code, out, _ = call(capsys, "resume", "shown")
    assert code == 0
    assert "nothing to train" in out
    assert len(drawn) == 2


@pytest.mark.parametrize("command", ["resume", "train"])
def test_h3_a_run_whose_checkpoints_are_gone_exits_with_3_and_what_to_do(capsys, run_dir, command):
    shutil.rmtree(Path(run_dir, "checkpoints"))
    words = ["resume", run_dir] if command == "resume" else ["train", "point-trap", *SMOKE]
    code, _, err = call(capsys, *words)
    assert code == 3
    assert "metrics.jsonl" in err
    assert "another --run-dir" in err
    assert call(capsys, "info", run_dir)[0] == 0
