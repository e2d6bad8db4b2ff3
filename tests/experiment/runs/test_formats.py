"""What a run directory knows of itself, and what directories of older formats still give."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy

import nses
from checkpoints import grown, same
from nses.core.values import State
from nses.experiment.runs import checkpoint, formats
from nses.experiment.runs.checkpoint import MANIFEST, SCALARS, TENSORS, TRACES, load, save
from nses.experiment.runs.encoding import sha256, take_apart, to_json
from nses.experiment.runs.run import Run


def train(directory: Path, generations: int = 5) -> Run:
    return nses.train(
        "point-trap", recipe="smoke", backend="serial", tensorboard=False, members=3, seed=1,
        generations=generations, run_dir=directory,
    )  # fmt: skip


def lose_last_lines(run: Run) -> None:
    """As a full disk loses them: the last line left is that of another member."""
    updated = [record["member"] for record in run.metrics]
    while updated[-1] == run.metrics[-1]["member"]:
        updated.pop()
    metrics = run.path / "metrics.jsonl"
    metrics.write_text("".join(metrics.read_text().splitlines(keepends=True)[: len(updated)]))


def test_m11_a_lost_last_line_of_metrics_does_not_change_the_final_policy(tmp_path: Path) -> None:
    run = train(tmp_path / "run")
    updated = run.metrics[-1]["member"]
    theta, moments = run.parameters("final")
    np.testing.assert_array_equal(theta, run.parameters(f"member:{updated}")[0])
    lose_last_lines(run)
    after, same_moments = run.parameters("final")
    np.testing.assert_array_equal(after, theta)
    np.testing.assert_array_equal(same_moments.sum, moments.sum)


def as_in_format_1(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Checkpoints as format 1 had them: all tensors in one file each, and no last update."""
    for generation, path in checkpoint.stored(directory):
        loaded = checkpoint.load(directory, at_most=generation)
        scalars, tensors = take_apart(State, loaded.state)
        del scalars["updated"]
        files = {TENSORS: safetensors.numpy.save(tensors), SCALARS: to_json(scalars)}
        entries = {name: {"size": len(x), "sha256": sha256(x)} for name, x in files.items()}
        with monkeypatch.context() as past:
            past.setattr(formats, "FORMAT", 1)
            files[MANIFEST] = formats.sealed({"config": loaded.config, "files": entries})
        for name, data in files.items():
            (path / name).write_bytes(data)
    shutil.rmtree(directory / TRACES, ignore_errors=True)


def test_s7_a_run_of_format_1_loads_with_the_same_digest_and_goes_on_in_format_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, run = train(tmp_path / "whole", 7), train(tmp_path / "run")
    digest, theta = run.digest, run.parameters("final")[0]
    as_in_format_1(run.path / checkpoint.DIRECTORY, monkeypatch)
    assert run.state.updated is None
    assert run.digest == digest
    np.testing.assert_array_equal(run.parameters("final")[0], theta)  # the metrics say which
    resumed = nses.resume(run.path, generations=7)
    assert resumed.state.updated == whole.state.updated
    assert resumed.digest == whole.digest


def test_s7_traces_of_format_1_load_and_are_stored_once_by_the_next_save(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for generation in (1, 2):
        save(tmp_path, grown(generation), {})
    as_in_format_1(tmp_path, monkeypatch)
    old = replace(grown(2), updated=None)
    assert same(load(tmp_path).state, old)
    save(tmp_path, grown(3), {})
    assert same(load(tmp_path).state, grown(3))
    assert len(list((tmp_path / TRACES).iterdir())) == 5
    assert same(load(tmp_path, at_most=2).state, old)
    written_in = {
        path.parent.name: json.loads(path.read_bytes())["format"]
        for path in tmp_path.glob(f"*/{MANIFEST}")
    }
    assert written_in == {"000001": 1, "000002": 1, "000003": 2}
