"""A fifth algorithm needs its row in the table, and nothing else."""

import csv
import json

import numpy as np
import pytest

import nses
from nses.cli import main
from nses.core.algorithms import ALGORITHMS, Algorithm
from nses.core.weight import keep
from nses.experiment.arms import arms_of

PLAIN = ["--recipe", "smoke", "--backend", "serial", "--no-tensorboard", "--no-pictures"]


@pytest.fixture
def fifth(monkeypatch):
    row = Algorithm("fifth-es", lambda f, N, w: np.maximum(f, N), 0.7, keep, population=False)
    monkeypatch.setitem(ALGORITHMS, row.name, row)
    return row.name


def test_the_command_line_trains_and_compares_it(fifth, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for algorithm in (fifth, "nsr-es"):
        for seed in ("0", "1"):
            words = ["train", "point-trap", "--algorithm", algorithm, "--seed", seed, *PLAIN]
            assert main(words) == 0, capsys.readouterr().err
    run = nses.load(f"runs/point-trap/{fifth}/seed-0")
    assert run.config.members == len(run.state.members) == 1  # as the row says
    assert {record["weight"] for record in run.metrics} == {0.7}

    assert main(["compare", "runs"]) == 0, capsys.readouterr().err
    (table,) = tmp_path.rglob("table.csv")
    with table.open() as file:
        rows = [row["label"] for row in csv.DictReader(file)]
    assert rows == ["nsr-es", fifth]  # in the order of the table of algorithms
    assert fifth in capsys.readouterr().out


def test_help_and_errors_name_it(fifth, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as left:
        main(["train", "point-trap", "--help"])
    assert left.value.code == 0
    assert f"nsra-es,{fifth}" in capsys.readouterr().out.replace("\n", "")
    with pytest.raises(ValueError, match=f"one of es, ns-es, nsr-es, nsra-es, {fifth}, got 'x'"):
        nses.train("point-trap", algorithm="x")


def test_estimate_and_reproduce_know_it(fifth, capsys):
    assert fifth in [arm.algorithm for arm in arms_of("point-trap")]
    assert main(["estimate", "point-trap", "--algorithm", fifth, "--recipe", "smoke"]) == 0
    assert capsys.readouterr().out


def test_a_run_of_it_is_refused_where_the_row_is_missing(fifth, tmp_path, monkeypatch):
    settings = {"recipe": "smoke", "generations": 1, "backend": "serial", "pictures": False}
    run = nses.train("point-trap", algorithm=fifth, run_dir=tmp_path / "run", **settings)
    assert json.loads((run.path / "config.json").read_text())["config"]["algorithm"] == fifth
    monkeypatch.delitem(ALGORITHMS, fifth)
    with pytest.raises(nses.errors.CheckpointRefused, match="algorithm must be one of"):
        nses.load(run.path)
