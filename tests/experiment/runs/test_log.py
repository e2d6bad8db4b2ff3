"""metrics.jsonl."""

import errno
import json
import os
import subprocess
import sys

import numpy as np

from nses.core.moments import nothing
from nses.core.values import Evaluation, Report
from nses.experiment.runs.log import (
    METRICS,
    GenerationLog,
    read_generations,
    record_of,
)

CANDIDATES = Evaluation(np.zeros(2), np.ones(2), np.ones(2, np.int64), nothing(0))


def record(generation, seconds=1.0):
    return {"generation": generation, "member": 0, "seconds": seconds}


def report(**changes):
    values = {
        "generation": 3, "member": 1, "score": 2.0, "best": 2.5, "return_mean": 1.0,
        "return_best": 3.0, "weight": 1.0, "novelty_mean": 0.5, "archive_size": 8, "episodes": 100,
        "env_steps": 1000, "failed": 0, "blown_up": 0, "gradient_norm": 1.0, "behavior": (1.0, 2.0),
        "selection": (0.5, 0.5), "restarts": 0, "evaluation": CANDIDATES,
    }  # fmt: skip
    return Report(**(values | changes))


def test_a_record_has_every_promised_field_and_is_standard_json():
    r = record_of(report(best=float("-inf")), seconds=12.5, duration=0.5, env_steps=200)
    promised = (
        "generation member return_mean return_best weight novelty_mean archive_size episodes "
        "env_steps seconds steps_per_second behavior"
    )
    assert set(promised.split()) <= set(r)
    assert (r["seconds"], r["steps_per_second"], r["best"]) == (12.5, 400.0, None)
    json.dumps(r, allow_nan=False)


def test_s14_a_torn_last_line_is_skipped_and_resuming_cuts_the_log_back(tmp_path):
    with GenerationLog(tmp_path / METRICS, 0) as log:
        for generation in range(1, 6):
            log.write(record(generation, seconds=generation))
    file = tmp_path / METRICS
    file.write_bytes(file.read_bytes() + b'{"generation": 6, "mem')
    assert [r["generation"] for r in read_generations(file)] == [1, 2, 3, 4, 5]
    with GenerationLog(tmp_path / METRICS, 3) as log:
        assert log.seconds == 3
        log.write(record(4))
    assert [r["generation"] for r in read_generations(file)] == [1, 2, 3, 4]
    assert all(json.loads(line) for line in file.read_text().splitlines())


FULL_DISK = """
import logging, resource, signal, sys
from pathlib import Path
from nses.experiment.runs.log import GenerationLog
logging.basicConfig(format="%(message)s")
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
line = lambda g: {"generation": g, "text": "x" * 100}
with GenerationLog(Path(sys.argv[1], "metrics.jsonl"), 0) as log:
    for g in (1, 2): log.write(line(g))
    size = Path(sys.argv[1], "metrics.jsonl").stat().st_size
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 50, resource.RLIM_INFINITY))
    for g in (3, 4, 5): log.write(line(g))
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    for g in (6, 7): log.write(line(g))
"""


def test_s2_a_full_disk_in_the_log_is_warned_of_once_and_the_gap_is_marked(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, str(tmp_path)], capture_output=True, text=True, check=True
    )
    lines = [json.loads(line) for line in (tmp_path / METRICS).read_text().splitlines()]
    assert [x.get("generation", x.get("gap")) for x in lines] == [1, 2, [3, 5], 6, 7]
    assert [r["generation"] for r in read_generations(tmp_path / METRICS)] == [1, 2, 6, 7]
    assert done.stderr.count("metrics.jsonl cannot be written") == 1
    assert "generations 3 to 5 are missing" in done.stderr


def test_s2_a_device_that_is_always_full_does_not_stop_the_log(tmp_path, caplog):
    log = GenerationLog(tmp_path / METRICS, 0)
    log.file.close()
    with open("/dev/full", "ab", buffering=0) as full:
        log.file = full
        log.write(record(1))
        log.write(record(2))
    assert log.gap == [1, 2]
    assert caplog.text.count("Training goes on") == 1


def test_m4_a_sync_that_fails_is_warned_of_once_and_does_not_stop_the_log(tmp_path, caplog):
    log = GenerationLog(tmp_path / METRICS, 0)
    log.file.close()
    with open("/dev/full", "ab", buffering=0) as full:  # which cannot be synced either
        log.file = full
        for generation in (1, 2):
            log.write(record(generation))
            log.sync()
    assert log.gap == [1, 2]
    assert caplog.text.count("Training goes on") == 1


def test_m4_lines_that_did_not_get_to_the_disk_are_written_again(tmp_path, monkeypatch, caplog):
    with GenerationLog(tmp_path / METRICS, 0) as log:
        log.write(record(1))
        log.sync()
        for generation in (2, 3):
            log.write(record(generation))
            with monkeypatch.context() as full:
                full.setattr(os, "fsync", lost_by(log))
                log.sync()
        log.write(record(4))
        log.sync()
    assert [r["generation"] for r in read_generations(tmp_path / METRICS)] == [1, 2, 3, 4]
    assert caplog.text.count("Training goes on") == 1


def lost_by(log):
    """An fsync that fails; the system drops what it could not write, and leaves zeros."""

    def fsync(descriptor):
        size = os.fstat(descriptor).st_size
        kept = log.path.read_bytes().splitlines(keepends=True)[0]
        os.ftruncate(descriptor, len(kept))
        os.ftruncate(descriptor, size)
        raise OSError(errno.ENOSPC, "No space left on device")

    return fsync


def test_m4_lines_that_are_missing_when_a_run_is_resumed_are_marked_as_a_gap(tmp_path, caplog):
    with GenerationLog(tmp_path / METRICS, 0) as log:
        log.write(record(1))
    with GenerationLog(tmp_path / METRICS, 4) as log:  # whose checkpoint got to the disk
        log.write(record(5))
    lines = [json.loads(line) for line in (tmp_path / METRICS).read_text().splitlines()]
    assert [x.get("generation", x.get("gap")) for x in lines] == [1, [2, 4], 5]
    assert "generations 2 to 4 are missing" in caplog.text
