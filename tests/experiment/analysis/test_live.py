"""Runs that are watched while they train."""

import json
import os
import shutil
from pathlib import Path

import pytest

from nses.experiment.analysis import live
from nses.experiment.analysis.live import FINISHED, STOPPED, TRAINING, Tail, Watcher
from nses.experiment.runs.storage import DirectoryLock
from pretended import pretend, record, write_metrics


def append(run, *records):
    with open(run.path / "metrics.jsonl", "a") as file:
        file.writelines(json.dumps(r) + "\n" for r in records)


def test_a_tail_reads_what_is_new_and_waits_for_the_end_of_a_line(tmp_path):
    tail = Tail(tmp_path / "metrics.jsonl")
    assert tail.read() == []
    lines = [json.dumps(record(t)) + "\n" for t in range(1, 4)]
    tail.path.write_text(lines[0] + lines[1][:20])
    assert [r["generation"] for r in tail.read()] == [1]
    tail.path.write_text("".join(lines) + '{"gap": [4, 9]}\n')
    assert [r["generation"] for r in tail.read()] == [1, 2, 3]
    assert tail.unreadable == 0


def test_a_tail_does_not_read_again_what_it_has_read(tmp_path, monkeypatch):
    run = pretend(tmp_path / "run", generation=50, total=99)
    tail, parsed = Tail(run.path / "metrics.jsonl"), []
    monkeypatch.setattr(live, "metrics_in", lambda line: parsed.append(line) or json.loads(line))
    before = tail.read()
    append(run, record(51))
    assert len(tail.read()) == 51
    assert len(parsed) == 51
    assert len(before) == 50  # who drew it meanwhile saw a list that stayed as it was


@pytest.mark.parametrize("how", ["cut back", "replaced by a longer one"])
def test_a_tail_begins_again_when_its_file_is_another(tmp_path, how):
    path = tmp_path / "metrics.jsonl"
    write_metrics(tmp_path, [record(t) for t in range(1, 11)])
    tail = Tail(path)
    tail.read()
    expected = 3 if how == "cut back" else 20
    write_metrics(tmp_path, [record(t, seed=1) for t in range(1, expected + 1)])
    assert tail.read() == [record(t, seed=1) for t in range(1, expected + 1)]


def test_a_run_is_training_while_its_lock_is_held_and_finished_once_it_is_tested(tmp_path):
    pretend(tmp_path / "done", generation=5)
    run = pretend(tmp_path / "run", generation=5, total=9)
    watcher = Watcher([tmp_path])

    def states():
        return {os.path.basename(r.name): r.state for r in watcher.look().runs}

    with DirectoryLock(run.path):
        os.utime(run.path / "metrics.jsonl", (0, 0))
        assert states() == {"run": TRAINING, "done": FINISHED}
        assert watcher.look().runs[0].name.endswith("run")  # the first in the table
    append(run, record(6))  # just now, but nobody of this machine is at work any more
    assert states() == {"run": STOPPED, "done": FINISHED}


def test_a_run_of_another_machine_is_training_while_its_numbers_change(tmp_path):
    run = pretend(tmp_path / "run", generation=5, total=9)
    (run.path / ".lock").write_text("process 1 on some-other-machine")
    watcher = Watcher([tmp_path])
    assert watcher.look().runs[0].state == TRAINING
    os.utime(run.path / "metrics.jsonl", (0, 0))
    assert watcher.look().runs[0].state == STOPPED


def test_new_runs_appear_and_others_go(tmp_path):
    watcher = Watcher([tmp_path])
    assert watcher.look().runs == ()
    run = pretend(tmp_path / "run", generation=1, total=2)
    watcher._search_at = 0.0
    stamp = watcher.look().stamp
    assert len(watcher.look().runs) == 1
    append(run, record(2))
    assert watcher.look().stamp != stamp
    shutil.rmtree(run.path)
    watcher._search_at = 0.0
    assert watcher.look().runs == ()


def test_s9_a_pipe_in_the_place_of_a_log_does_not_stop_the_watch(tmp_path):
    pretend(tmp_path / "well")
    run = pretend(tmp_path / "pipe", generation=1, total=2)
    (run.path / "metrics.jsonl").unlink()
    os.mkfifo(run.path / "metrics.jsonl")
    view = Watcher([tmp_path]).look()
    assert [Path(live.name).name for live in view.runs] == ["well"]
    assert "not a regular file" in view.faults[0]


def test_directories_that_cannot_be_read_are_named_and_the_others_shown(tmp_path):
    pretend(tmp_path / "well")
    for name, text in {
        "torn": '{"config": ',
        "foreign": "[1, 2]",
        "versions": json.dumps({**json.loads((tmp_path / "well/config.json").read_text()),
                                "versions": [1]}),
    }.items():  # fmt: skip
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text(text)
    pretend(tmp_path / "lines", generation=3, total=9)
    with open(tmp_path / "lines/metrics.jsonl", "a") as file:
        file.write('{"generation": 4, "best": "<b>"}\nnonsense\n')
    view = Watcher([tmp_path]).look()
    assert sorted(os.path.basename(run.name) for run in view.runs) == ["lines", "well"]
    faults = "\n".join(view.faults)
    for name in ("torn", "foreign", "versions", "2 unreadable lines"):
        assert name in faults
