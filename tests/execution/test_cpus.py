"""How many workers there are, and that each of them is one thread of work (E20)."""

import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from batches import archive, perturbed, plan_of, processes
from environments import drift
from nses.errors import TaskBroken
from nses.execution import spawn as module
from nses.execution.cpus import ONE_THREAD, usable_cpus

NOWHERE = Path("/nowhere")
ALL = usable_cpus(NOWHERE)
several_cpus = pytest.mark.skipif(ALL < 2, reason="needs two CPUs")


@several_cpus
def test_e20_the_affinity_mask_counts_not_the_machine():
    script = (
        "import os; from nses.execution.cpus import usable_cpus\n"
        "os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})\n"
        "print(usable_cpus())"
    )
    assert subprocess.check_output([sys.executable, "-c", script]) == b"1\n"


@pytest.mark.parametrize(
    ("written", "cpus"),
    [
        ("100000 100000\n", 1),
        ("150000 100000\n", 1),
        ("50000 100000\n", 1),
        ("100000000 100000\n", ALL),
        ("max 100000\n", ALL),
        ("", ALL),
    ],
)
def test_e20_a_control_group_of_version_2_limits_the_workers(
    tmp_path: Path, written: str, cpus: int
):
    (tmp_path / "cpu.max").write_text(written)
    assert usable_cpus(tmp_path) == cpus


@pytest.mark.parametrize(("quota", "cpus"), [("100000", 1), ("-1", ALL)])
def test_e20_a_control_group_of_version_1_limits_the_workers(tmp_path: Path, quota: str, cpus: int):
    (tmp_path / "cpu").mkdir()
    (tmp_path / "cpu" / "cpu.cfs_quota_us").write_text(quota)
    (tmp_path / "cpu" / "cpu.cfs_period_us").write_text("100000")
    assert usable_cpus(tmp_path) == cpus


def test_e20_without_control_groups_the_mask_alone_counts():
    assert usable_cpus(NOWHERE) == len(os.sched_getaffinity(0))


def test_e20_a_worker_has_one_blas_thread_whatever_the_environment_says(
    monkeypatch: pytest.MonkeyPatch,
):
    for name in ONE_THREAD:
        monkeypatch.setenv(name, "4")
    plan = plan_of(drift())
    with processes(plan, workers=1) as evaluate:
        evaluate(perturbed(plan), archive(5))
        worker = psutil.Process(evaluate.pool.workers[0].process.pid)
        assert worker.num_threads() == 2  # the one that plays, the one that watches the parent
        assert {name: worker.environ()[name] for name in ONE_THREAD} == ONE_THREAD


@several_cpus
def test_e20_a_worker_refuses_to_work_when_blas_starts_threads(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "ONE_THREAD", dict.fromkeys(ONE_THREAD, "2"))
    plan = plan_of(drift())
    with processes(plan, workers=1) as evaluate, pytest.raises(TaskBroken, match="BLAS started"):
        evaluate(perturbed(plan), archive(5))
