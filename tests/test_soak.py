"""The soak: its plan, its judgement, and a short one."""

import subprocess
import sys
from dataclasses import replace
from itertools import islice
from pathlib import Path
from types import SimpleNamespace

import pytest
from benchmarks.evidence import Evidence, differences
from benchmarks.faults import DAMAGES, ENDING, KINDS, generation_of, plan
from benchmarks.nodes.faults import kinds_on

ROOT = Path(__file__).parents[1]


def test_the_plan_of_faults_is_a_pure_function_of_its_seed():
    cluster = SimpleNamespace(enter=["nsenter"])
    for kinds in (KINDS, kinds_on(cluster)):
        first, again = list(islice(plan(7, kinds), 200)), list(islice(plan(7, kinds), 200))
        assert first == again != list(islice(plan(8, kinds), 200))
        assert {fault.kind for fault in first} == set(kinds)
        assert {fault.damage for fault in first if fault.kind in ENDING} == {None, *DAMAGES}


def test_a_disturbed_run_may_lack_only_lines_that_it_says_it_lacks():
    logs = {"metrics.jsonl": {1: '{"x": 1}', 2: '{"x": 2}'}}
    right = Evidence("s", [1.0], "r", logs, frozenset())
    assert not differences(right, right)
    lacking = replace(right, logs={"metrics.jsonl": {1: '{"x": 1}'}})
    assert differences(lacking, right) == ["metrics.jsonl: 2 is missing"]
    assert not differences(replace(lacking, gaps=frozenset([2])), right)
    lines = {1: '{"x": 3, "y": 4}', 2: '{"x": 2}', 3: "{}"}
    other = replace(right, state="t", logs={"metrics.jsonl": lines})
    assert differences(other, right) == [
        "state",
        "metrics.jsonl: 1 differs in x y",
        "metrics.jsonl: 3 is too many",
    ]


def test_the_last_generation_of_a_log_is_that_of_its_last_whole_line(tmp_path):
    assert generation_of(tmp_path) == 0
    (tmp_path / "metrics.jsonl").write_text('{"generation": 4}\n{"generation": 5}\n{"gener')
    assert generation_of(tmp_path) == 5


@pytest.mark.slow
def test_a_short_soak_ends_with_the_digest_of_the_undisturbed_run(tmp_path):
    done = subprocess.run(
        [
            *(sys.executable, "-m", "benchmarks", "soak", "--seconds", "5", "--seed", "1"),
            *("--where", "machine", "--tasks", "point-trap", "--directory", str(tmp_path)),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=500,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "digest equal" in done.stdout
