"""Undamaged runs, with the same bytes whenever they are made."""

import importlib
import json
import os
import pkgutil
import shutil
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import nses
from benchmarks.fuzzing import looks, traced
from benchmarks.fuzzing.looks import Expected
from nses.experiment.runs.run import save_reference

NAMES = ("run", "stopped", "traced")
SETTINGS: dict[str, Any] = {
    "n": 4, "members": 2, "hidden": (4, 4), "evaluation_episodes": 1, "retest_episodes": 2,
    "keep_every": 2, "backend": "serial", "tensorboard": False, "max_steps": 20,
}  # fmt: skip


@dataclass(frozen=True)
class Base:
    """Undamaged runs, and the right answers about them."""

    home: Path
    expected: dict[str, Expected]

    @property
    def runs(self) -> list[Path]:
        return [self.home / name for name in self.expected]


class _Enough(Exception):
    """Ends a run before its last generation."""


def warm_up() -> None:
    """Import now what every case would otherwise have to import itself."""
    names = [module.name for module in pkgutil.walk_packages(nses.__path__, "nses.")]
    for name in (*names, "tyro", "rich.progress", "scipy.stats", "plotly.graph_objects"):
        if not name.endswith("__main__"):
            with suppress(ImportError):  # an extra that is not installed
                importlib.import_module(name)


def base_runs(home: Path) -> Base:
    """A finished run, a stopped one and one with traces, with the same bytes every time."""
    before = Path.cwd()
    os.chdir(home)  # a checkpoint records its directory
    try:
        whole = nses.train("point-trap", seed=1, generations=6, run_dir="run", **SETTINGS)
        save_reference(whole.path, np.zeros((2, 6), np.float32))
        moments = {"normalize": True, "moments_probability": 1.0}
        with suppress(_Enough):
            nses.train(
                "CartPole-v1", algorithm="nsr-es", seed=2, generations=6, run_dir="stopped",
                listener=_stop_after_five, **SETTINGS, **moments,
            )  # fmt: skip
        nses.train(
            f"{traced.__name__}:Remembering", algorithm="ns-es", seed=3, generations=6,
            run_dir="traced", behavior="trace:memory", distance="ram", **SETTINGS,
        )  # fmt: skip
        for name in NAMES:
            _forget_the_clock(Path(name))
        expected = {name: _expected(Path(name)) for name in NAMES}
    finally:
        os.chdir(before)
    return Base(home, expected)


def _stop_after_five(state: Any, record: dict[str, Any]) -> None:
    if state.generation == 5:
        raise _Enough


def _forget_the_clock(path: Path) -> None:
    """Overwrite what differs from one time to the next: seconds, the command, the process."""
    lines = (path / "metrics.jsonl").read_text().splitlines()
    records = [json.loads(line) for line in lines]
    fixed = [r | {"seconds": r["generation"] / 2, "steps_per_second": 100.0} for r in records]
    (path / "metrics.jsonl").write_text("".join(json.dumps(r) + "\n" for r in fixed))
    document = json.loads((path / "config.json").read_text())
    document["command"] = "nses train"
    (path / "config.json").write_text(json.dumps(document, indent=1) + "\n")
    (path / ".lock").write_text("process 1 on elsewhere")


def _expected(path: Path) -> Expected:
    run = nses.load(path)
    policies = {which: looks.policy_bits(*run.parameters(which)) for which in looks.POLICIES}
    returns = {
        which: float(nses.evaluate(run, which, episodes=1).returns[0]) for which in looks.POLICIES
    }
    states = {run.state.generation: looks.state_bits(run)}
    with tempfile.TemporaryDirectory() as name:
        shutil.copytree(path, Path(name) / "copy")
        for generations in (6, 7):
            longer = nses.resume(Path(name) / "copy", generations=generations)
            states[generations] = looks.state_bits(longer)
    return Expected(policies, states, returns)
