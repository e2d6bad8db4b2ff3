"""M8: one bad run among good ones is left out by name and reason, in bounded time."""

import csv
import json
import os
import shutil
from dataclasses import replace

import pytest

from bounded import bounded
from damaged import COMPARED, LEFT_OUT, config_with
from nses.cli import main
from nses.experiment.analysis.gather import gathered
from nses.experiment.analysis.live import Watcher
from nses.experiment.runs.storage import CheckpointRefused
from pretended import make_run


def made(directory, damages):
    """A run for each kind of damage, named after it."""
    given = {"algorithm": "nsra-es", "retest": [5.0], "members": 3}
    whole = make_run(directory / "whole", range(8), **given)
    for seed, (name, damage) in enumerate(damages.items(), start=10):
        run = replace(whole, path=directory / name)
        shutil.copytree(whole.path, run.path)
        config_with(seed=seed)(run)
        damage(run)
    shutil.rmtree(whole.path)


@pytest.mark.slow
def test_m8_bad_runs_among_good_ones_are_left_out_by_name_and_reason(tmp_path, capsys):
    made(tmp_path, {"good-1": lambda run: None, "good-2": lambda run: None} | LEFT_OUT)
    with bounded(60):
        assert main(["compare", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    document = json.loads((tmp_path / "comparison.json").read_text())
    reasons = {os.path.basename(x["directory"]): x["reason"] for x in document["left_out"]}
    assert set(reasons) == set(LEFT_OUT)
    assert {os.path.basename(run["directory"]) for run in document["runs"]} == {"good-1", "good-2"}
    page = (tmp_path / "report.html").read_text()
    for name, reason in reasons.items():
        assert f"left out: {tmp_path / name}: " in out
        assert f"left out: {tmp_path / name}: " in page
        assert 5 < len(reason) < 600
        assert "Error(" not in reason
    assert len(out) < 100_000


@pytest.mark.slow
def test_m8_l7_odd_runs_and_names_of_any_script_are_compared(tmp_path, capsys):
    made(tmp_path, COMPARED)
    with bounded(120):
        assert main(["compare", str(tmp_path)]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert "left out" not in out
    document = json.loads((tmp_path / "comparison.json").read_text())
    compared = {os.path.basename(run["directory"]) for run in document["runs"]}
    assert compared == set(COMPARED)
    assert (tmp_path / "runs.csv").read_text(encoding="utf-8").count("任务") == 1


def test_m8_l7_a_run_of_a_task_in_other_letters_has_pictures_and_a_page(tmp_path, capsys):
    task = "任务 задача $a_{b$"
    make_run(tmp_path / "run", [1.0, 2.0], task=task, retest=[1.0])
    assert main(["compare", str(tmp_path / "run")]) == 0
    assert task in (tmp_path / "run" / "comparison" / "report.html").read_text(encoding="utf-8")
    with (tmp_path / "run" / "comparison" / "table.csv").open(encoding="utf-8") as file:
        assert [row["task"] for row in csv.DictReader(file)] == [task]


def test_m8_where_all_runs_are_bad_it_is_an_error(tmp_path, capsys):
    few = dict(list(LEFT_OUT.items())[::9])
    made(tmp_path, few)
    with pytest.raises(CheckpointRefused):
        gathered([tmp_path])
    assert main(["compare", str(tmp_path)]) == 3
    err = capsys.readouterr().err
    assert all(str(tmp_path / name) in err for name in few)


def test_m8_watch_shows_what_can_be_shown_and_names_the_rest(tmp_path):
    made(tmp_path, LEFT_OUT | COMPARED)
    with bounded(60):
        view = Watcher([tmp_path]).look()
    shown = {os.path.basename(run.name) for run in view.runs}
    assert shown >= set(COMPARED)
    for name in set(LEFT_OUT) - shown:
        assert any(fault.startswith(f"{tmp_path / name}: ") for fault in view.faults), name
    assert all(len(fault) < 1000 for fault in view.faults)


@pytest.mark.parametrize("name", [*LEFT_OUT, *COMPARED])
def test_m8_info_of_any_damaged_run_is_an_answer_or_a_clear_refusal(tmp_path, capsys, name):
    made(tmp_path, {name: (LEFT_OUT | COMPARED)[name]})
    with bounded():
        assert main(["info", str(tmp_path / name)]) in (0, 3)
    out, err = capsys.readouterr()
    assert "bug" not in err
    assert len(out + err) < 300_000


def test_m8_lines_that_cannot_be_read_are_reported(tmp_path, capsys):
    made(tmp_path, {"good": lambda run: None, "null": COMPARED["seconds-null"]})
    assert main(["compare", str(tmp_path)]) == 0
    assert "seed 11 has 1 line in metrics.jsonl that cannot be read" in capsys.readouterr().out
