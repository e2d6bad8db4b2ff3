"""`nses replay`."""

import json
import re
from pathlib import Path

import pytest

from commands import call

pytestmark = pytest.mark.usefixtures("own_folder")


def test_replay_plays_a_candidate_again_and_says_that_the_bits_are_the_same(capsys, run_dir):
    code, out, _ = call(capsys, "replay", run_dir, "--generation", "3", "--candidate", "5")
    assert code == 0
    assert re.search(r"policy +generation:3:candidate:5", out)
    assert re.search(r"same bits +yes", out)
    facts = json.loads(call(capsys, "replay", run_dir, "--generation", "3", "--json")[1])
    assert facts["mean return"] == facts["logged"]


def test_replay_that_does_not_give_the_logged_return_fails(capsys, run_dir):
    history = Path(run_dir) / "history.jsonl"
    lines = [json.loads(line) for line in history.read_text().splitlines()]
    lines[2]["f"] = lines[1]["f"]  # another generation's
    del lines[2]["sha256"]  # as in runs that are older than this seal
    history.write_text("".join(json.dumps(line) + "\n" for line in lines))
    code, out, err = call(capsys, "replay", run_dir, "--generation", "3", "--candidate", "5")
    assert code == 1
    assert "began with python" in err
    assert re.search(r"same bits +no", out)
