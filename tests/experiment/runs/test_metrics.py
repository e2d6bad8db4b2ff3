"""The metrics of a run are a list of records, and a table for those who calculate."""

import numpy as np
import pandas
import polars
import pytest

from nses.experiment.runs.metrics import Metrics

RECORDS = [
    {"generation": t, "score": None if t == 2 else 0.5 * t, "behavior": [0.0, 1.0 * t]}
    for t in (1, 2, 3)
]


@pytest.fixture
def metrics():
    return Metrics(RECORDS)


def test_they_are_still_the_list_that_they_were(metrics):
    assert metrics == RECORDS
    assert isinstance(metrics, list)
    assert metrics[-1]["generation"] == 3
    assert metrics[1:] == RECORDS[1:]
    assert [r["generation"] for r in metrics] == [1, 2, 3]


def test_a_name_gives_a_column(metrics):
    assert metrics["generation"].dtype == np.int64
    np.testing.assert_array_equal(metrics["score"], [0.5, np.nan, 1.5])
    assert metrics["behavior"].shape == (3, 2)
    with pytest.raises(KeyError, match="no column 'sorce'; there are generation, score, behavior"):
        metrics["sorce"]


def test_pandas_and_polars_take_them_as_they_are_and_by_columns(metrics):
    for given in (metrics, metrics.columns):
        frame = pandas.DataFrame(given)
        assert list(frame.columns) == ["generation", "score", "behavior"]
        assert (len(frame), frame["score"].max()) == (3, 1.5)
        table = polars.DataFrame(given)
        assert table.shape == (3, 3)
        assert table["generation"].to_list() == [1, 2, 3]


def test_lines_may_lack_a_column_or_have_odd_ones():
    odd = Metrics([{"generation": 1}, {"generation": 2, "behavior": [1.0], "mine": "x"}])
    assert odd["mine"].tolist() == [None, "x"]
    assert odd["behavior"].tolist() == [None, [1.0]]
    assert odd.columns["behavior"] == [[], [1.0]]


def test_their_repr_is_short(metrics):
    assert repr(metrics) == "<3 generations; the last is 3; columns generation, score, behavior>"
    assert repr(Metrics()) == "<0 generations; columns >"
