"""docs/extending.md: every diff applies, touches as many files as it says, and works."""

import csv
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from math import pi
from pathlib import Path
from shutil import copytree

import pytest

from commands import IN_ONE_PROCESS

ROOT = Path(__file__).parent.parent
DOCUMENT = ROOT / "docs" / "extending.md"
SECTION = re.compile(r"^## ([^\n]+): (\d+) files?\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
BLOCK = r"^```{}\n(.*?)^```$"

# As small as it gets, since nothing is compiled: no compiled code of a copy would be used again.
NOT_COMPILED = {"NUMBA_DISABLE_JIT": "1"}
SMALL = "--n 4 --generations 3 --hidden 4 --no-native --no-pictures --no-tensorboard"


@dataclass(frozen=True)
class Example:
    """A section of the document."""

    files: int  # that it says it touches
    diff: str
    commands: list[str]


def block(language: str, text: str) -> str:
    return "".join(re.findall(BLOCK.format(language), text, re.MULTILINE | re.DOTALL))


EXAMPLES = {
    title: Example(
        int(files),
        block("diff", text),
        [line.removeprefix("$ ") for line in block("console", text).splitlines()],
    )
    for title, files, text in SECTION.findall(DOCUMENT.read_text(encoding="utf-8"))
}


def run(words: list[str], folder: Path, **options: str) -> str:
    """What a command prints, in a folder whose copy of the package comes before any other."""
    paths = {"PYTHONPATH": str(folder / "src"), "GIT_CEILING_DIRECTORIES": str(folder.parent)}
    environment = {**os.environ, **paths, **NOT_COMPILED}
    done = subprocess.run(
        words, cwd=folder, env=environment, capture_output=True, text=True, **options
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def followed(example: Example, folder: Path) -> str:
    """What the commands print in a copy of the package with the diff in it."""
    copytree(ROOT / "src", folder / "src")  # and its bytecode
    run(["git", "apply", "-"], folder, input=example.diff)
    if example.commands[0].startswith("python "):
        (command,) = example.commands
        return run([sys.executable, *shlex.split(command)[1:]], folder)
    lines = [line.removeprefix("nses ") for line in example.commands]
    lines = [f"{line} {SMALL}" if line.startswith("train ") else line for line in lines]
    return run([sys.executable, "-c", IN_ONE_PROCESS, *lines], folder)


def records(folder: Path, name: str) -> list[dict[str, object]]:
    (log,) = folder.glob(f"runs/{name}/seed-0/metrics.jsonl")
    return [json.loads(line) for line in log.read_text().splitlines()]


def task(folder: Path, printed: str) -> None:
    assert [len(record["behavior"]) for record in records(folder, "*ill*/nsra-es")] == [1, 1, 1]


def behavior(folder: Path, printed: str) -> None:
    for record in records(folder, "point-trap/nsra-es"):
        radius, angle = record["behavior"]
        assert radius >= 0
        assert -pi <= angle <= pi


def policy(folder: Path, printed: str) -> None:
    assert "linear:Linear: 12 parameters; it has no memory" in printed
    assert "over 5 fresh episodes" in printed
    document = json.loads((folder / "runs/point-trap/nsra-es/seed-0/config.json").read_text())
    assert document["config"]["workers"] == 2
    assert document["config"]["policy_class"] == "linear:Linear"


def algorithm(folder: Path, printed: str) -> None:
    weights = [record["weight"] for record in records(folder, "point-trap/nsrr-es")]
    assert weights == [0.0, 0.0, 0.05]  # it moves after two updates
    (table,) = folder.rglob("table.csv")
    with table.open() as file:
        assert [row["label"] for row in csv.DictReader(file)] == ["es", "nsrr-es"]
    assert "nsrr-es" in printed


def body(folder: Path, printed: str) -> None:
    assert len(records(folder, "walker/nsra-es")) == 3


def backend(folder: Path, printed: str) -> None:
    serial, executor = re.findall(r"^digest +(\w{64})$", printed, re.MULTILINE)
    assert serial == executor


CHECKS: dict[str, Callable[[Path, str], None]] = {
    "A task": task,
    "A behavior": behavior,
    "A policy": policy,
    "An algorithm": algorithm,
    "A MuJoCo body": body,
    "A backend": backend,
}


@pytest.mark.parametrize("title", CHECKS)
def test_an_example_touches_as_many_files_as_it_says_and_works(title: str, tmp_path: Path) -> None:
    example = EXAMPLES[title]
    assert len(re.findall(r"^\+\+\+ ", example.diff, re.MULTILINE)) == example.files
    CHECKS[title](tmp_path, followed(example, tmp_path))


def test_every_example_is_tried_and_none_touches_more_files_than_we_promise() -> None:
    files = {title: example.files for title, example in EXAMPLES.items()}
    assert files == dict.fromkeys(CHECKS, 1) | {"A MuJoCo body": 2, "A backend": 2}
