"""`nses estimate`."""

import re
from dataclasses import replace

import pytest

import nses
from commands import call
from nses.experiment.estimate import estimate

pytestmark = pytest.mark.usefixtures("own_folder")


def test_estimate_tells_time_and_memory(capsys):
    code, out, _ = call(capsys, "estimate", "point-trap", "--workers", "4")
    assert code == 0
    assert "418 parameters" in out
    assert "52,555" in out
    assert re.search(r"memory\s+[\d.]+ GB", out)


def test_estimate_tells_what_a_cluster_would_take(capsys, monkeypatch):
    monkeypatch.setattr("nses.experiment.estimate.MEASURED_SECONDS", 0.1)
    words = ["estimate", "point-trap", "--workers", "40", "--nodes", "4", "--n", "200"]
    code, out, _ = call(capsys, *words)
    assert code == 0
    text = " ".join(out.split())
    assert re.search(r"core-hours [\d.]+", text)
    assert re.search(r"efficiency CPUs play [\d.]+ % of the time; most of the rest: [a-z]+", text)
    assert "10 runs at once CPUs play" in text
    assert "GB at most on each of 4 nodes" in text


@pytest.mark.parametrize(("nodes", "workers"), [("0", "4"), ("5", "4"), ("5000", "4096")])
def test_estimate_refuses_nodes_without_workers(capsys, nodes, workers):
    code, _, err = call(capsys, "estimate", "point-trap", "--nodes", nodes, "--workers", workers)
    assert (code, "Traceback" in err) == (2, False)
    assert f"--nodes {nodes} and --workers {workers}" in err


def test_estimate_counts_the_slower_environment_of_members(monkeypatch):
    monkeypatch.setattr("nses.experiment.estimate.MEASURED_SECONDS", 0.2)
    config = nses.recipe("humanoid", "laptop", "es")
    few = replace(config, n=2, steps_per_generation=0, evaluation_episodes=200, workers=1)
    whole = estimate(few)
    faster = estimate(replace(few, environment=config.training_environment))
    assert whole.total > 1.5 * faster.total  # RK4 takes three times as long
