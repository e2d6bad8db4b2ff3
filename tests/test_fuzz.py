"""The fuzzer runs, repeats itself, and finds a defect that was put there."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest
from benchmarks.fuzzing.damage import damage, files_of
from benchmarks.fuzzing.edits import LARGEST, edited, reseal
from benchmarks.fuzzing.words import words

ROOT = Path(__file__).parents[1]

PLANTED = """
import sys
from benchmarks import fuzz
from nses.experiment.runs import run

whole = run.read_metrics

def broken(path):
    if "damaged" in path.parts:
        raise ZeroDivisionError("planted")
    return whole(path)

run.read_metrics = broken
sys.exit(fuzz.main(sys.argv[1:]))
"""


def fuzz(*arguments: str, program: tuple[str, ...] = ("-m", "benchmarks", "fuzz")):
    return subprocess.run(
        [sys.executable, *program, *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=500,
    )


@pytest.fixture
def small_run(tmp_path: Path) -> Path:
    """What looks like a run, without the time to train one."""
    home = tmp_path / "run"
    for name in ("config.json", "metrics.jsonl", "checkpoints/000001/manifest.json", ".lock"):
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text('{"a": [1, 2.5, "x"], "b": {"c": null}}\n')
    return home


def test_a_file_that_became_huge_is_not_read_for_its_checksum(small_run: Path):
    manifest = small_run / "checkpoints/000001/manifest.json"
    os.truncate(manifest, LARGEST + 1)
    assert not reseal(manifest.with_name("state.safetensors"))


def contents(home: Path) -> dict[str, bytes]:
    files = [path for path in files_of(home) if path.stat().st_size < 1 << 20]
    return {str(path.relative_to(home)): path.read_bytes() for path in files}


@pytest.mark.parametrize("case", range(60))
def test_damage_is_a_pure_function_of_its_seed(small_run, tmp_path, case):
    found = []
    for name in ("one", "two"):
        copy = tmp_path / name / "run"
        shutil.copytree(small_run, copy)
        found.append((damage(copy, Random(f"0 {case}"), [small_run]), contents(copy)))
    assert found[0] == found[1]


def test_every_case_draws_other_words():
    lines = {tuple(words(Random(f"0 {case}"))) for case in range(200)}
    assert len(lines) > 190
    assert words(Random("0 1")) == words(Random("0 1"))


def test_an_edited_document_differs():
    text = '{"a": [1, 2.5], "b": {"c": "x"}}'
    assert sum(edited(text, Random(str(i))) != text for i in range(100)) > 95


@pytest.mark.slow
def test_the_fuzzer_finds_nothing_in_runs_that_nobody_has_damaged():
    done = fuzz("--cases", "0", "--seconds", "400")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "seed 0: 12 cases, 0 findings" in done.stdout


@pytest.mark.slow
def test_the_fuzzer_finds_a_planted_defect_and_repeats_the_finding():
    planted = ("-c", PLANTED)
    done = fuzz("--cases", "0", "--seed", "3", "--seconds", "400", program=planted)
    assert done.returncode == 1, done.stdout + done.stderr
    case = re.search(r"seed 3, case (-?\d+): .*ZeroDivisionError", done.stdout)
    assert case, done.stdout
    again = fuzz("--seed", "3", "--case", case[1], program=planted)
    assert again.returncode == 1
    assert "ZeroDivisionError: planted" in again.stdout
