"""The memory of an archive, E14: counted before a run needs it."""

import logging
from dataclasses import replace
from pathlib import Path

import pytest

import nses
from nses.experiment.estimate import estimate
from nses.experiment.settings import memory
from nses.experiment.settings.config import Config
from nses.experiment.settings.memory import archive_bytes, archives_bytes, available_bytes
from nses.rollouts.behaviors import parse_behavior
from troubled import Remembering

TASK = nses.Task("remembering", Remembering, parse_behavior("trace:memory"), 10, distance="ram")


SMALL = {
    "backend": "serial",
    "seed": 1,
    "recipe": "smoke",
    "n": 8,
    "tensorboard": False,
    "retest_episodes": 2,
}


ATARI = replace(TASK, step_limit=5000)


LONG = Config("remembering", generations=797, members=3, workers=4)


def test_e14_an_archive_of_traces_is_counted_as_long_as_episodes_may_be() -> None:
    assert archive_bytes(LONG, ATARI) == 800 * 5000 * 128
    assert archives_bytes(LONG, ATARI) == (3 + 4) * 800 * 5000 * 128
    assert archives_bytes(replace(LONG, backend="serial"), ATARI) == 3 * 800 * 5000 * 128
    assert archive_bytes(LONG, nses.make_task("point-trap")) == 800 * 2 * 8


def test_e14_the_estimate_counts_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nses.experiment.estimate.MEASURED_SECONDS", 0.01)
    monkeypatch.setattr("nses.experiment.estimate.task_of", lambda config: ATARI)
    config = Config("remembering", generations=797, members=3, backend="serial", hidden=(4,))
    short = estimate(replace(config, generations=0)).memory
    assert estimate(config).memory - short == pytest.approx(3 * 797 * 5000 * 128, rel=0.02)


def test_e14_before_a_run_that_may_not_fit_there_is_a_warning_with_the_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(memory, "available_bytes", lambda: 30_000)
    task = replace(TASK, step_limit=10)
    nses.train(task, run_dir=tmp_path / "small", generations=1, **SMALL)
    assert caplog.records == []
    run = nses.train(task, run_dir=tmp_path / "large", generations=8, **SMALL)
    # 3 × 10 entries × 10 steps × 128 bytes
    assert run.finished
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert "10 steps; this machine has 0.0 GB left" in record.getMessage()
    assert "--generations" in record.getMessage()


def test_e14_what_is_available_is_the_least_of_what_the_system_says(tmp_path: Path) -> None:
    machine = available_bytes(tmp_path)  # nothing is said
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/meminfo").write_text("MemTotal: 9 kB\nMemAvailable:    2000 kB\n")
    assert available_bytes(tmp_path) == 2_048_000 < machine
    group = tmp_path / "sys/fs/cgroup"
    group.mkdir(parents=True)
    (group / "memory.max").write_text("max\n")
    assert available_bytes(tmp_path) == 2_048_000
    (group / "memory.max").write_text("1000000\n")
    assert available_bytes(tmp_path) == 1_000_000
    (group / "memory").mkdir()
    (group / "memory/memory.limit_in_bytes").write_text("500000\n")
    assert available_bytes(tmp_path) == 500_000


def test_e14_this_machine_has_memory() -> None:
    assert 1e8 < available_bytes() < 1e14
