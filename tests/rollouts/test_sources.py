"""The code of a task: a run says when it has changed."""

import json
import logging
from pathlib import Path

import nses

SMALL = {"recipe": "smoke", "tensorboard": False, "max_steps": 10, "generations": 2}


def train(directory: Path, task: str, **settings):
    return nses.train(task, run_dir=directory, **{**SMALL, "backend": "serial", **settings})


def warnings(caplog):
    return [r.getMessage() for r in caplog.records if r.levelno == logging.WARNING]


def test_m13_another_source_of_the_environment_or_behavior_is_said_on_resume(
    tmp_path, monkeypatch, caplog
):
    import troubled

    source = Path(troubled.__file__).read_text()
    (tmp_path / "changing.py").write_text(source)
    (tmp_path / "looking_at.py").write_text("def where(observation, info):\n    return [1.0]\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    run = train(tmp_path / "run", "changing:Calm", behavior="looking_at:where")
    stored = json.loads((run.path / "config.json").read_text())["sources"]
    assert sorted(stored) == ["behavior", "environment"]

    nses.resume(run.path, generations=3)
    assert not warnings(caplog)
    (tmp_path / "changing.py").write_text(source + "\n# changed\n")
    nses.resume(run.path, generations=4)
    (said,) = warnings(caplog)
    assert "the code of the environment has changed since the run began" in said


def test_m13_a_run_without_sources_is_loaded_and_resumed(tmp_path, caplog):
    run = train(tmp_path / "run", "troubled:Calm")
    document = json.loads((run.path / "config.json").read_text())
    del document["sources"]
    (run.path / "config.json").write_text(json.dumps(document))
    assert nses.resume(run.path, generations=3).finished
    assert not warnings(caplog)
