"""A generation is written down everywhere at once."""

import json
from pathlib import Path

import pytest

from nses.experiment.runs.events import TENSORBOARD
from nses.experiment.runs.history import HISTORY
from nses.experiment.runs.journal import Journal
from nses.experiment.runs.log import METRICS
from toy import make_search


def test_a_journal_writes_every_log_and_its_clock_goes_on_when_it_is_continued(tmp_path: Path):
    toys = make_search("nsra-es")
    state = toys.init()
    records = []
    with Journal(tmp_path, state, tensorboard=True) as journal:
        for after, report in toys.run(state, generations=2):
            state = after
            records.append(journal.write(state, report))
        journal.sync()
    lines = (tmp_path / METRICS).read_text().splitlines()
    assert lines == [json.dumps(record) for record in records]
    assert len((tmp_path / HISTORY).read_text().splitlines()) == 2
    assert len(list((tmp_path / TENSORBOARD).iterdir())) == 1
    assert 0 < records[0]["seconds"] < records[1]["seconds"]
    with Journal(tmp_path, state, tensorboard=False) as journal:
        assert journal.seconds == pytest.approx(records[1]["seconds"])
        ((state, report),) = toys.run(state, generations=3)
        assert journal.write(state, report)["seconds"] > records[1]["seconds"]
