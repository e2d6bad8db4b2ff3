"""`nses evaluate`."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from commands import call

pytestmark = pytest.mark.usefixtures("own_folder")


def test_evaluate_prints_a_line_or_json(capsys, run_dir):
    code, out, _ = call(capsys, "evaluate", run_dir, "--episodes", "4")
    assert code == 0
    assert "over 4 fresh episodes" in out
    code, out, _ = call(
        capsys, "evaluate", run_dir, "--episodes", "4", "--json", "--policy", "final"
    )
    result = json.loads(out)
    assert len(result["returns"]) == len(result["lengths"]) == len(result["behaviors"]) == 4
    assert result["mean"] == pytest.approx(sum(result["returns"]) / 4)
    again = json.loads(
        call(capsys, "evaluate", run_dir, "--episodes", "4", "--json", "--policy", "final")[1]
    )
    assert again == result


def test_evaluate_refuses_a_policy_that_is_not_there(capsys, run_dir):
    code, _, err = call(capsys, "evaluate", run_dir, "--policy", "member:7")
    assert code == 2
    assert "member:0 to member:1" in err


def test_evaluate_refuses_a_negative_seed(capsys, run_dir):
    code, _, err = call(capsys, "evaluate", run_dir, "--seed", "-1")
    assert code == 2
    assert "seed must be at least 0, got -1" in err


def test_h2_evaluate_says_on_standard_error_what_it_used(capsys, run_dir):
    whole = json.loads(call(capsys, "evaluate", run_dir, "--episodes", "3", "--json")[1])
    file = Path(run_dir, "checkpoints", "000005", "state.safetensors")
    file.write_bytes(file.read_bytes()[:-1] + b"x")
    argv = [sys.executable, "-m", "nses", "evaluate", run_dir, "--episodes", "3", "--json"]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == whole
    said = " ".join(done.stderr.split())
    assert said.count("Checkpoint 000005 was refused") == 1
    assert said.count("best.safetensors of generation 5 is used instead") == 1
