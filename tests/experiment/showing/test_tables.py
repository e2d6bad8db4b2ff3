import csv
import io
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from rich.console import Console

from nses.experiment.analysis.comparison import compare
from nses.experiment.analysis.stories import find_runs
from nses.experiment.showing import tables
from nses.experiment.showing.cells import interval, number, p_value, share
from nses.experiment.showing.markup import table
from nses.experiment.showing.publish import write_tables
from nses.experiment.showing.terminal import grid_of
from pretended import make_run


class Cells(HTMLParser):
    """The texts of a page's table, row by row."""

    def __init__(self, text):
        super().__init__()
        self.rows = []
        self.feed(text.split("</table>")[0])

    def handle_starttag(self, tag, attrs):
        if tag == "tr":
            self.rows.append([])
        if tag in ("th", "td"):
            self.rows[-1].append("")

    def handle_data(self, data):
        if self.rows and self.rows[-1]:
            self.rows[-1][-1] += data


@pytest.fixture
def contest(tmp_path):
    """es far behind; nsra-es has not ended."""
    for algorithm, level, retest in (("es", 0.0, [1.0]), ("nsra-es", 50.0, None)):
        for seed in range(8):
            scores = level + seed + np.arange(3.0)
            place = tmp_path / algorithm / str(seed)
            make_run(place, scores, algorithm=algorithm, seed=seed, retest=retest, generations=4)
    (contest,) = compare(find_runs([tmp_path]))
    return contest


def printed(table):
    console = Console(file=io.StringIO(), width=200)
    console.print(grid_of(table))
    return console.file.getvalue()


def test_terminal_and_page_say_the_same_of_every_group_and_pair(contest, tmp_path):
    for value in (tables.scores(contest, paper=True), tables.differences(contest)):
        lines = printed(value)
        rows = Cells(table(value, tmp_path)).rows[1:]
        assert len(rows) == len(value.records)
        for row in rows:
            (line,) = (x for x in lines.splitlines() if x.strip().startswith(f"{row[0]} "))
            narrow = [c for c, column in zip(row, value.columns, strict=True) if column.narrow]
            assert line.split() == " ".join(narrow).split()


def test_what_a_terminal_has_no_room_for_is_on_the_page(contest, tmp_path):
    value = tables.scores(contest, paper=False)
    assert "range" not in printed(value)
    assert "2 to 9" in table(value, tmp_path)


def test_the_paired_test_is_on_the_page_and_not_in_the_headline(contest, tmp_path):
    value = tables.differences(contest)
    assert "paired" not in printed(value)
    assert "paired:" in table(value, tmp_path)
    assert "the same seed gives all algorithms the same start" in table(value, tmp_path)


def test_files_hold_the_same_records_unrounded(contest, tmp_path):
    write_tables([contest], tmp_path, "nses compare x")
    for name, value in (("table", tables.scores(contest, paper=False)),
                        ("pairs", tables.differences(contest))):  # fmt: skip
        rows = list(csv.DictReader((tmp_path / f"{name}.csv").read_text().splitlines()))
        for row, record in zip(rows, value.records, strict=True):
            for column, text in row.items():
                expected = getattr(record, column)
                assert text == ("" if expected is None else str(expected))


def test_a_group_has_the_colour_in_which_it_is_drawn(contest, tmp_path):
    page = table(tables.scores(contest, paper=False), tmp_path)
    assert re.findall(r"background:(rgb\([\d,]+\))", page) == ["rgb(115,115,125)", "rgb(0,115,178)"]


def test_numbers_that_are_not_there_are_shown_alike():
    assert {number(None), number(np.nan), share(np.nan), p_value(np.nan)} == {"–"}
    assert interval(np.nan, np.nan) == ""


def test_numbers_are_rounded_for_people():
    assert number(1234.5678) == "1235"
    assert interval(1.23456, 12345.6) == "[1.235, 12,346]"
    assert share(0.375) == "38%"
    assert (p_value(0.00099), p_value(0.04321)) == ("< 0.001", "0.043")
