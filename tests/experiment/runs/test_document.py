import json
import sys

import pytest

from nses.experiment.runs.document import CONFIG, LONGEST_TEXT, Resumption, note_resumption
from nses.experiment.runs.log import read_metrics
from nses.experiment.runs.run import load
from nses.experiment.runs.storage import CheckpointRefused
from nses.experiment.settings.config import changed
from nses.experiment.showing.report import write_run_report
from pretended import make_run, pretend, record, write_metrics


@pytest.fixture
def run(tmp_path):
    return pretend(tmp_path / "run")


def rewrite(run, **items):
    """The run, whose config.json says something else."""
    document = json.loads((run.path / CONFIG).read_text())
    (run.path / CONFIG).write_text(json.dumps(document | items))
    return load(run.path)


def test_a_run_knows_where_it_was_continued(run, monkeypatch):
    monkeypatch.setattr("sys.argv", ["nses", "resume", "some run"])
    note_resumption(run.path, changed(run.config, {"generations": 40}), 20)
    again = load(run.path)
    assert run.resumptions == ()
    assert again.resumptions == (Resumption("20", "nses resume 'some run'"),)
    assert again.config.generations == 40
    assert again.versions == run.versions


def test_odd_resumptions_are_read_as_short_texts(run):
    odd = rewrite(run, resumed=[7, None, {}, {"generation": ["x"], "command": "y" * 10**5}])
    empty, long = odd.resumptions
    assert empty == Resumption("None", "None")
    assert long.generation == "['x']"
    assert len(long.command) == LONGEST_TEXT + 2


def test_a_file_that_is_not_a_document_is_refused_by_name(run):
    for items in ({"versions": 5}, {"spaces": {}}, {"resumed": "never"}, {"format": 99}):
        with pytest.raises(CheckpointRefused, match=CONFIG):
            rewrite(run, **items)


def test_the_page_of_a_run_that_was_loaded_does_not_read_its_configuration_again(run):
    resumed = rewrite(run, resumed=[{"generation": 5, "command": "nses resume elsewhere"}])
    (run.path / CONFIG).unlink()
    assert "nses resume elsewhere" in write_run_report(resumed).read_text()


def test_records_can_be_read_by_name(run):
    write_metrics(run.path, [record(1), {"gap": [2, 3]}, record(4)])
    assert [r["generation"] for r in run.metrics] == [1, 4]
    assert run.metrics[0]["failed"] == 0
    assert read_metrics(run.path / "metrics.jsonl")[1] == 0


@pytest.mark.parametrize(
    ("program", "shown"),
    [
        ("/somewhere/bin/nses", "nses"),
        ("/somewhere/nses/__main__.py", "nses"),
        ("my program.py", "'my program.py'"),
    ],
)
def test_the_command_that_is_recorded_can_be_typed_again(tmp_path, monkeypatch, program, shown):
    monkeypatch.setattr(sys, "argv", [program, "train", "a task"])
    assert make_run(tmp_path / "run", [1.0]).command == f"{shown} train 'a task'"


@pytest.mark.parametrize(
    ("program", "shown"),
    [
        ("/somewhere/ipykernel_launcher.py", "a notebook"),
        ("-c", "an interactive Python"),
        ("", "an interactive Python"),
    ],
)
def test_without_a_command_it_is_recorded_where_a_run_was_made(
    tmp_path, monkeypatch, program, shown
):
    monkeypatch.setattr(sys, "argv", [program, "-f", "kernel.json"])
    assert make_run(tmp_path / "run", [1.0]).command == shown


def test_an_older_run_names_its_axes_after_its_settings(run):
    older = rewrite(run, drawn={})
    assert [older.facts.label(i) for i in (0, 1)] == ["final x", "final y"]
    unknown = rewrite(run, drawn={}, own_task=True)
    assert unknown.facts.label(1) == "behavior 1"


@pytest.mark.parametrize(
    "drawn", [7, {"scene": {"walls": [[1]]}}, {"labels": 3}, {"scene": {"start": [0, 1e300]}}]
)
def test_a_scene_that_nobody_can_draw_is_refused(run, drawn):
    with pytest.raises(CheckpointRefused, match="not the configuration of a run"):
        rewrite(run, drawn=drawn)
