"""`nses info`."""

import json
import re

import pytest

import nses
from commands import call

pytestmark = pytest.mark.usefixtures("own_folder")


def test_info_tells_what_a_run_is(capsys, run_dir):
    code, out, _ = call(capsys, "info", run_dir)
    assert code == 0
    assert nses.load(run_dir).digest in re.sub(r"\s", "", out)
    assert re.search(r"^training time +0:0\d$", out, re.M)
    assert re.search(r"^versions +python [\d.]+, ", out, re.M)
    assert not re.search(r"\d\.\d{5}|[{}\"\[\]]", out.partition("digest")[0])
    facts = json.loads(call(capsys, "info", run_dir, "--json")[1])
    assert (type(facts["best score"]), type(facts["versions"])) == (float, dict)
    assert (facts["task"], facts["generation"]) == ("point-trap", "5 of 5, finished")
