"""The files of examples/cluster are well-formed and safe; they run on other machines."""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "examples" / "cluster"
SCRIPTS = ["two-machines.sh", "nses.slurm"]

# What KubeRay's definition of a RayCluster (commit 017710c of its repository) says about the fields
# that we use. It has many more; none but these may appear here.


def holding(required: str = "", **fields: Any) -> dict[str, Any]:
    """An object with these fields, some of which must be there."""
    return {
        "type": "object",
        "properties": fields,
        "required": required.split(),
        "additionalProperties": False,
    }


def several(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


TEXT, WHOLE = {"type": "string"}, {"type": "integer"}
TEXTS = {"type": "object", "additionalProperties": TEXT}
NUMBER = r"(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
QUANTITY = {"type": ["integer", "string"], "pattern": rf"^{NUMBER}(([KMGTPE]i)|[numkMGTPE])?$"}
QUANTITIES = {"type": "object", "additionalProperties": QUANTITY}
CONTAINER = holding(
    "name",
    name=TEXT,
    image=TEXT,
    env=several(holding("name", name=TEXT, value=TEXT)),
    resources=holding(limits=QUANTITIES, requests=QUANTITIES),
    volumeMounts=several(holding("mountPath name", mountPath=TEXT, name=TEXT)),
)
CLAIM = holding("claimName", claimName=TEXT)
POD = holding(
    "containers",
    containers=several(CONTAINER),
    nodeSelector=TEXTS,
    terminationGracePeriodSeconds=WHOLE,
    volumes=several(holding("name", name=TEXT, persistentVolumeClaim=CLAIM)),
)
GROUP = {"rayStartParams": TEXTS, "template": holding(spec=POD)}
REPLICAS = {"replicas": WHOLE, "minReplicas": WHOLE, "maxReplicas": WHOLE}
SPEC = holding(
    "headGroupSpec",
    rayVersion=TEXT,
    authOptions=holding(mode={"enum": ["disabled", "token"]}),
    headGroupSpec=holding("template", **GROUP),
    workerGroupSpecs=several(
        holding("groupName maxReplicas minReplicas template", groupName=TEXT, **REPLICAS, **GROUP)
    ),
)
RAY_CLUSTER = holding(
    "apiVersion kind metadata spec",
    apiVersion={"const": "ray.io/v1"},
    kind={"const": "RayCluster"},
    metadata=holding("name", name=TEXT),
    spec=SPEC,
)


def documents() -> list[dict[str, Any]]:
    yaml = pytest.importorskip("yaml", reason="PyYAML comes with the extra 'ray'")
    return list(yaml.safe_load_all((FOLDER / "raycluster.yaml").read_text()))


def test_the_ray_cluster_has_the_fields_that_kuberay_knows():
    jsonschema = pytest.importorskip("jsonschema", reason="it comes with the extra 'ray'")
    cluster = documents()[0]
    jsonschema.validate(cluster, RAY_CLUSTER)
    assert cluster["spec"]["authOptions"]["mode"] == "token"
    del cluster["spec"]["workerGroupSpecs"][0]["template"]["spec"]["containers"][0]["name"]
    with pytest.raises(jsonschema.ValidationError, match="'name' is a required property"):
        jsonschema.validate(cluster, RAY_CLUSTER)


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
