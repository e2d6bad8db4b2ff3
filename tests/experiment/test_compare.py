"""`nses.compare` in Python: the numbers as values, everything else in a directory."""

import pandas
import polars
import pytest

import nses

SMALL = {"recipe": "smoke", "backend": "serial", "tensorboard": False, "generations": 2}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    place = tmp_path_factory.mktemp("compared")
    return [
        nses.train("point-trap", algorithm=a, run_dir=place / a, **SMALL) for a in ("es", "nsra-es")
    ]


def test_runs_or_their_directory_are_compared_without_a_word(runs, tmp_path, capsys):
    a = nses.compare([*runs], output=tmp_path / "a")
    b = nses.compare(runs[0].path.parent, output=tmp_path / "b")
    assert capsys.readouterr().out == ""
    assert [row.label for row in a.rows] == ["es", "nsra-es"]
    assert [row.best_median for row in a.rows] == [run.best.score for run in runs]
    assert [r.best_median for r in b.rows] == [r.best_median for r in a.rows]
    assert a.pairs == []  # of one run each there is nothing to test
    assert a.report == tmp_path / "a" / "report.html"
    assert f"--output {tmp_path / 'a'}" in a.report.read_text()
    assert (tmp_path / "a" / "table.csv").is_file()


def test_pandas_and_polars_make_a_table_of_the_rows(runs, tmp_path):
    found = nses.compare(*runs, output=tmp_path)
    assert list(pandas.DataFrame(found.rows)["label"]) == ["es", "nsra-es"]
    assert polars.DataFrame(found.rows)["label"].to_list() == ["es", "nsra-es"]
    assert repr(found) == f"<comparison of 2 runs on point-trap, in {tmp_path}>"
    assert "nsra-es" in found._repr_html_()


def test_nothing_to_compare_is_said_to_be_so(tmp_path):
    with pytest.raises(ValueError, match=r'nses\.compare\("runs"\)'):
        nses.compare([])
    with pytest.raises(ValueError, match="holds no run"):
        nses.compare(tmp_path)
