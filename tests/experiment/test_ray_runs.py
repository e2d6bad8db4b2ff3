"""Whole runs on a Ray cluster: the digest of any other backend, whatever happens on the way."""

import os
import signal
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest
from benchmarks.nodes.cluster import cluster_of_two, namespaces
from benchmarks.nodes.faults import foremen, workers

import nses
from clusters import Cluster, needs_ray, two_nodes
from commands import nses_commands
from sources import DOZING, WALK, write_registered
from waiting import SOON, gone, wait_until

pytestmark = [needs_ray, pytest.mark.slow]

QUICK: dict[str, Any] = {"recipe": "smoke", "seed": 1, "tensorboard": False, "generations": 2}
PLAIN = ["--recipe", "smoke", "--seed", "1", "--no-tensorboard", "--no-pictures"]

cluster = pytest.fixture(scope="module")(two_nodes)


@pytest.mark.parametrize(
    ("task", "settings"),
    [
        ("humanoid", {"n": 16}),
        ("atari:freeway", {"n": 4, "max_steps": 40, "reference": 4, "evaluation_episodes": 2}),
    ],
)
def test_a_run_on_two_nodes_has_the_digest_of_the_serial_one(
    cluster: Cluster, tmp_path: Path, task: str, settings: dict[str, Any]
):
    if task.startswith("atari"):
        pytest.importorskip("ale_py", reason="needs the extra atari")
    there = {"backend": "ray", "ray_address": cluster.address}
    one = nses.train(task, run_dir=tmp_path / "serial", backend="serial", **QUICK, **settings)
    two = nses.train(task, run_dir=tmp_path / "ray", **there, **QUICK, **settings)
    assert two.digest == one.digest
    assert two.variations == one.variations


def test_a_task_of_a_users_own_file_trains_on_nodes_that_do_not_have_it(
    cluster: Cluster, tmp_path: Path
):
    (tmp_path / "my_walk.py").write_text("from steps import STEP\n" + WALK)
    (tmp_path / "steps.py").write_text("STEP = 0.5\n")
    words = ["train", "my_walk:Walk", "--max-steps", "4", *PLAIN, "--generations", "2"]
    places = (["--backend", "serial"], ["--backend", "ray", "--ray-address", cluster.address])
    done = nses_commands(tmp_path, *([*words, *x, "--run-dir", x[1]] for x in places))
    assert done.returncode == 0, done.stderr
    assert nses.load(tmp_path / "ray").digest == nses.load(tmp_path / "serial").digest


def test_nodes_import_what_registers_an_environment_and_what_defines_a_network(
    cluster: Cluster, tmp_path: Path
):
    write_registered(tmp_path)
    words = ["train", "Walk-v0", "--import", "walks", "--policy-class", "nets:Net", *PLAIN]
    words += ["--generations", "2"]
    places = (["--backend", "serial"], ["--backend", "ray", "--ray-address", cluster.address])
    done = nses_commands(tmp_path, *([*words, *x, "--run-dir", x[1]] for x in places))
    assert done.returncode == 0, done.stderr
    assert nses.load(tmp_path / "ray").digest == nses.load(tmp_path / "serial").digest


def test_an_experiment_on_a_cluster_has_the_digests_of_its_runs_alone(
    cluster: Cluster, tmp_path: Path, launch: Any
):
    where = ["--backend", "ray", "--ray-address", cluster.address, "--directory", "all"]
    words = ["reproduce", "point-trap", "--recipe", "smoke", "--runs", "1", "--seed", "1"]
    few = ["--settings", "generations=2", "tensorboard=false"]
    home = tmp_path / "all" / "point-trap"
    obstacle = home / "ns-es" / "seed-1"
    obstacle.parent.mkdir(parents=True)
    obstacle.write_text("in the way")  # one run fails, and hurts no other
    alone = {  # one of them in its place, where it is done already
        algorithm: nses.train(
            "point-trap", algorithm=algorithm, backend="serial", **QUICK,
            run_dir=(home if algorithm == "nsr-es" else tmp_path) / algorithm / "seed-1",
        ).digest
        for algorithm in ("es", "nsr-es", "nsra-es")
    }  # fmt: skip
    said = tmp_path / "said"
    with said.open("w") as file:
        argv = [sys.executable, "-m", "nses", *words, *where, *few]
        program = launch(argv, cwd=tmp_path, stdout=file, stderr=file)
        assert program.wait(4 * SOON) == 4, said.read_text()  # the exit code of that run
    runs = {name: nses.load(home / name / "seed-1") for name in alone}
    assert {name: run.digest for name, run in runs.items()} == alone
    assert {name: run.config.backend for name, run in runs.items()} == {
        "es": "ray", "nsr-es": "serial", "nsra-es": "ray",
    }  # fmt: skip


def generations(directory: Path) -> int:
    file = directory / "metrics.jsonl"
    return file.read_bytes().count(b"\n") if file.exists() else 0


def test_p7_an_experiment_on_a_cluster_that_is_interrupted_keeps_its_runs_and_leaves_nobody(
    cluster: Cluster, tmp_path: Path, launch: Any
):
    words = ["reproduce", "point-trap", "--recipe", "smoke", "--runs", "1", "--side-by-side", "1"]
    words += ["--backend", "ray", "--ray-address", cluster.address, "--workers", "1"]
    words += ["--directory", "all", "--settings", "generations=1000000", "tensorboard=false"]
    said, run = tmp_path / "said", tmp_path / "all" / "point-trap" / "es" / "seed-0"
    with said.open("w") as file:
        argv = [sys.executable, "-m", "nses", *words]
        program = launch(argv, cwd=tmp_path, stdout=file, stderr=file)
        wait_until(lambda: generations(run) >= 1, program)
        players, started = foremen(cluster), psutil.Process(program.pid).children(recursive=True)
        assert players
        assert started
        os.killpg(program.pid, signal.SIGINT)  # as a terminal does
        assert program.wait(2 * SOON) == 130, said.read_text()
    assert "stopped by SIGINT" in said.read_text()
    assert "to continue: nses reproduce point-trap --recipe smoke" in said.read_text()
    assert gone([*players, *workers(cluster), *started])
    assert nses.load(run).state.generation == generations(run)


def test_p3_p10_a_killed_run_leaves_no_foreman_and_goes_on_without_the_cluster(
    cluster: Cluster, tmp_path: Path, launch: Any
):
    words = [*PLAIN, "--generations", "40", "--checkpoint-seconds", "0"]
    there = ["--backend", "ray", "--ray-address", cluster.address]
    run = tmp_path / "run"
    argv = [sys.executable, "-m", "nses", "train", "point-trap", *words, *there]
    quiet = (tmp_path / "said").open("w")
    with quiet:
        program = launch([*argv, "--run-dir", str(run)], stdout=quiet, stderr=quiet)
        wait_until(lambda: generations(run) >= 3, program)
        players = [*foremen(cluster), *workers(cluster)]
        os.kill(program.pid, signal.SIGKILL)
        program.wait(SOON)
    assert players
    assert gone(players)
    nses.resume(run, backend="processes", workers=2, generations=40)
    whole = nses.train(
        "point-trap", run_dir=tmp_path / "whole", backend="serial", **{**QUICK, "generations": 40}
    )
    assert nses.load(run).digest == whole.digest


def test_p10_a_run_whose_head_dies_keeps_what_it_has_and_says_how_to_go_on(
    tmp_path: Path, launch: Any, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "dozing.py").write_text(DOZING)  # which plays on until the head is given up
    monkeypatch.syspath_prepend(tmp_path)
    words = [*PLAIN, "--backend", "ray", "--workers", "1", "--generations", "1000000"]
    said, run = tmp_path / "said", tmp_path / "run"
    with said.open("w") as file:
        argv = [sys.executable, "-m", "nses", "train", "dozing:Dozing", "--max-steps", "4", *words]
        program = launch([*argv, "--run-dir", str(run)], cwd=tmp_path, stdout=file, stderr=file)
        wait_until(lambda: generations(run) >= 1, program)
        started = psutil.Process(program.pid).children(recursive=True)
        next(p for p in started if p.name() == "gcs_server").kill()
        assert program.wait(2 * SOON) == 5, said.read_text()
    assert "the head of the Ray cluster has not answered" in said.read_text()
    assert f"nses resume {run}" in said.read_text()
    reached = nses.load(run).state.generation
    assert reached == generations(run)
    resumed = nses.resume(run, backend="processes", workers=1, generations=reached + 1)
    assert resumed.state.generation == reached + 1
    assert gone(started)


def listening(process: psutil.Process) -> list[str]:
    try:
        connections = process.net_connections("tcp")
    except psutil.Error:  # it may end while we look
        return []
    return [c.laddr.ip for c in connections if c.status == psutil.CONN_LISTEN]


def test_without_a_cluster_a_local_one_is_started_on_loopback_and_nothing_is_left(
    tmp_path: Path, launch: Any, monkeypatch: pytest.MonkeyPatch
):
    for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN_PATH"):
        monkeypatch.delenv(name, raising=False)
    words = [*PLAIN, "--backend", "ray", "--workers", "1", "--generations", "30"]
    said = tmp_path / "said"
    with said.open("w") as file:
        argv = [sys.executable, "-m", "nses", "train", "point-trap", *words]
        program = launch([*argv, "--run-dir", str(tmp_path / "run")], stdout=file, stderr=file)
        wait_until(lambda: generations(tmp_path / "run") >= 1, program)
        started = psutil.Process(program.pid).children(recursive=True)
        heard = {address for process in started for address in listening(process)}
        assert program.wait(4 * SOON) == 0, said.read_text()
    assert heard <= {"127.0.0.1", "::ffff:127.0.0.1", "::1"}
    assert len(started) > 3
    assert gone(started)
    serial = nses.train(
        "point-trap", run_dir=tmp_path / "serial", backend="serial", **{**QUICK, "generations": 30}
    )
    assert nses.load(tmp_path / "run").digest == serial.digest


@pytest.mark.skipif(not namespaces(), reason="network namespaces are not allowed here")
def test_p9_a_run_goes_on_when_the_link_to_a_node_is_cut(
    tmp_path: Path, launch: Any, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "dozing.py").write_text(DOZING)
    monkeypatch.syspath_prepend(tmp_path)
    said, run = tmp_path / "said", tmp_path / "run"
    with cluster_of_two(apart=True) as cluster, said.open("w") as file:
        words = ["dozing:Dozing", "--max-steps", "4", *PLAIN, "--generations", "1000000"]
        words += ["--backend", "ray", "--ray-address", cluster.address, "--run-dir", str(run)]
        argv = [*cluster.enter, sys.executable, "-m", "nses", "train", *words]
        environment = {**os.environ, **cluster.environment}
        program = launch(argv, cwd=tmp_path, stdout=file, stderr=file, env=environment)
        wait_until(lambda: len(foremen(cluster)) == 2 and generations(run) >= 5, program)
        cluster.tell("cut")
        wait_until(lambda: "is lost" in said.read_text(), program)
        enough = generations(run) + 2
        wait_until(lambda: generations(run) >= enough, program)
        program.send_signal(signal.SIGINT)
        assert program.wait(2 * SOON) == 130, said.read_text()
    reached = nses.load(run)
    serial = {**QUICK, "generations": reached.state.generation, "max_steps": 4}
    whole = nses.train("dozing:Walk", run_dir=tmp_path / "whole", backend="serial", **serial)
    assert reached.digest == whole.digest
