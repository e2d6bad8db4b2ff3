"""The files of examples/cluster are well-formed and safe; they run on other machines."""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "examples" / "cluster"
SCRIPTS = ["two-machines.sh", "nses.slurm"]

# The fields of a RayCluster that we use, with their types, after KubeRay's API reference.
STRINGS = {str: str}
GROUP = {"rayStartParams": STRINGS, "template": {"spec": dict}}
PLAYERS = {"groupName": str, "replicas": int, "minReplicas": int, "maxReplicas": int, **GROUP}
RAY_CLUSTER: dict[Any, Any] = {
    "apiVersion": "ray.io/v1",
    "kind": "RayCluster",
    "metadata": {"name": str},
    "spec": {
        "rayVersion": str,
        "authOptions": {"mode": "token"},
        "headGroupSpec": GROUP,
        "workerGroupSpecs": [PLAYERS],
    },
}


def documents() -> list[dict[str, Any]]:
    yaml = pytest.importorskip("yaml", reason="PyYAML comes with the extra 'ray'")
    return list(yaml.safe_load_all((FOLDER / "raycluster.yaml").read_text()))


def check(value: Any, shape: Any) -> None:
    """All of the shape is there, and nothing else."""
    if shape is STRINGS:
        assert all(isinstance(x, str) for pair in value.items() for x in pair), value
    elif isinstance(shape, dict):
        assert value.keys() == shape.keys()
        for name, part in shape.items():
            check(value[name], part)
    elif isinstance(shape, list):
        for item in value:
            check(item, shape[0])
    elif isinstance(shape, type):
        assert isinstance(value, shape), value
    else:
        assert value == shape


def test_the_ray_cluster_has_the_fields_that_kuberay_knows():
    check(documents()[0], RAY_CLUSTER)


def test_all_pods_have_the_same_image_and_environment_and_enough_cpus():
    cluster, claim = documents()
    spec = cluster["spec"]
    pods = [spec["headGroupSpec"]["template"], spec["workerGroupSpecs"][0]["template"]]
    head, player = (pod["spec"]["containers"][0] for pod in pods)
    assert (head["image"], head["env"]) == (player["image"], player["env"])
    assert all(isinstance(entry["value"], str) for entry in head["env"])
    for container in (head, player):
        assert container["resources"]["requests"] == container["resources"]["limits"]
    (volume,) = pods[0]["spec"]["volumes"]
    assert volume["persistentVolumeClaim"]["claimName"] == claim["metadata"]["name"]


def test_the_version_of_ray_is_the_pinned_one_everywhere():
    (pinned,) = re.findall(r"^ray==(.+)$", (ROOT / "constraints.txt").read_text(), re.MULTILINE)
    assert f'rayVersion: "{pinned}"' in (FOLDER / "raycluster.yaml").read_text()
    assert f"rayproject/ray:{pinned}-" in (FOLDER / "Dockerfile").read_text()


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_are_bash_that_parses(name):
    subprocess.run(["bash", "-n", FOLDER / name], check=True)


@pytest.mark.parametrize("name", SCRIPTS)
def test_no_cluster_on_a_network_is_started_without_a_token(name):
    text = (FOLDER / name).read_text()
    assert "umask 077" in text
    assert text.index("RAY_AUTH_MODE=token") < text.index("ray start --")


@pytest.fixture
def pretended_ray(tmp_path, monkeypatch):
    """A `ray` that only writes down how it was called; returns what it wrote."""
    ray = tmp_path / "bin" / "ray"
    ray.parent.mkdir()
    ray.write_text(f'#!/bin/sh\necho "$RAY_AUTH_MODE $*" >> {tmp_path}/calls\n')
    ray.chmod(0o755)
    monkeypatch.setenv("PATH", f"{ray.parent}:/usr/bin:/bin")
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path / "calls"


def start(*words):
    return subprocess.run(["bash", FOLDER / SCRIPTS[0], *words], capture_output=True, text=True)


def test_the_head_makes_a_private_token_and_says_what_to_type_next(pretended_ray, tmp_path):
    done = start("head")
    assert done.returncode == 0, done.stderr
    token = tmp_path / ".ray" / "auth_token"
    assert token.stat().st_mode & 0o777 == 0o600
    assert re.fullmatch(r"[0-9a-f]{64}", token.read_text())
    assert pretended_ray.read_text().startswith("token start --head --port=6379")
    assert "./two-machines.sh join" in done.stdout
    again = token.read_text()
    start("head")
    assert token.read_text() == again


def test_nobody_joins_without_a_token(pretended_ray, tmp_path):
    done = start("join", "10.0.0.7:6379")
    assert done.returncode == 2
    assert "auth_token from the head" in done.stderr
    assert not pretended_ray.exists()
    start("head")
    assert start("join", "10.0.0.7:6379").returncode == 0
    assert pretended_ray.read_text().endswith("token start --address=10.0.0.7:6379\n")
