"""M10: nothing is written through a link that leads out of the directory that the user named.

And the tables that are written hold no formulas (L11).
"""

import csv
import os

import pytest

from nses.cli import main
from nses.experiment.analysis.comparison import compare
from nses.experiment.runs.events import TensorBoard
from nses.experiment.showing.publish import draw_run, write_tables
from pretended import make_run, pretend

SMOKE = ["--recipe", "smoke", "--generations", "1", "--backend", "serial", "--no-pictures"]


@pytest.fixture
def outside(tmp_path_factory):
    """A directory of somebody else's."""
    directory = tmp_path_factory.mktemp("outside")
    (directory / "precious").write_text("as it was")
    yield directory
    assert {p.name: p.read_text() for p in directory.iterdir()} == {"precious": "as it was"}


def refused(capsys, *arguments):
    assert main([*arguments]) == 2
    assert "leads out of" in capsys.readouterr().err


def test_m10_compare_does_not_write_through_a_linked_comparison(tmp_path, outside, capsys):
    run = pretend(tmp_path / "run", generation=2)
    (run.path / "comparison").symlink_to(outside)
    before = set(os.listdir(run.path))
    refused(capsys, "compare", str(run.path))
    assert set(os.listdir(run.path)) == before


def test_m10_nor_through_one_in_the_working_directory(tmp_path, outside, capsys, monkeypatch):
    runs = [str(pretend(tmp_path / f"{i}", generation=2, seed=i).path) for i in range(2)]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "comparison").symlink_to(outside)
    refused(capsys, "compare", *runs)


def test_m10_links_in_the_place_of_pictures_and_pages_are_replaced(tmp_path, outside):
    run = pretend(tmp_path / "run", generation=2)
    names = ("report.html", "curve.png", "curve.pdf", "overhead.png", "overhead.pdf")
    for name in names:
        (run.path / name).symlink_to(outside / "precious")
    draw_run(run)
    assert not any((run.path / name).is_symlink() for name in names)


@pytest.mark.parametrize("name", ["tensorboard", "checkpoints"])
def test_m10_training_does_not_write_through_a_linked_directory(tmp_path, outside, capsys, name):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / name).symlink_to(outside)
    refused(capsys, "train", "point-trap", *SMOKE, "--run-dir", str(tmp_path / "run"))


def test_m10_tensorboard_events_stay_in_their_run(tmp_path, outside):
    (tmp_path / "tensorboard").symlink_to(outside)
    with pytest.raises(ValueError, match="leads out of"):
        TensorBoard(tmp_path, 0)


@pytest.mark.parametrize("part", ["point-trap", "point-trap/ns-es", "point-trap/ns-es/seed-0"])
def test_m10_reproduce_does_not_write_through_a_linked_directory(tmp_path, outside, capsys, part):
    link = tmp_path / "reproduced" / part
    link.parent.mkdir(parents=True)
    link.symlink_to(outside)
    place = ["--directory", str(tmp_path / "reproduced")]
    refused(capsys, "reproduce", "point-trap", "--recipe", "smoke", "--runs", "1", *place)


def test_m10_a_linked_directory_that_the_user_names_is_written_to(tmp_path, capsys):
    run = pretend(tmp_path / "run", generation=2)
    (tmp_path / "real").mkdir()
    (tmp_path / "named").symlink_to("real")
    assert main(["compare", str(run.path), "--output", str(tmp_path / "named")]) == 0
    assert (tmp_path / "real" / "report.html").exists()


def test_l11_a_text_that_a_spreadsheet_would_calculate_begins_with_an_apostrophe(tmp_path):
    tasks = ["=1+2", "+1", "-1", "@sum", "plain"]
    runs = [
        make_run(tmp_path / str(i), [-1.0 - i], seed=i, task=task, retest=[-1.5])
        for i, task in enumerate(tasks)
    ]
    write_tables(compare(runs), tmp_path, "nses compare x")
    for name in ("table.csv", "runs.csv", "curves.csv"):
        rows = list(csv.DictReader((tmp_path / name).read_text().splitlines()))
        assert {row["task"] for row in rows} == {"'=1+2", "'+1", "'-1", "'@sum", "plain"}
    rows = list(csv.DictReader((tmp_path / "runs.csv").read_text().splitlines()))
    assert [row["best"] for row in rows] == ["-1.0", "-2.0", "-3.0", "-4.0", "-5.0"]
