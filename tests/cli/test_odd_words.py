"""Odd words on the line and odd values in a configuration: one clear sentence, never a bug."""

import json
import shutil
from pathlib import Path

import pytest

import nses
from nses.cli import main

TRAIN = ["train", "point-trap", "--recipe", "smoke", "--backend", "serial", "--no-tensorboard"]
DEEP = "[" * 5000


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    path = tmp_path_factory.mktemp("odd") / "run"
    settings = {"recipe": "smoke", "backend": "serial", "tensorboard": False, "pictures": False}
    nses.train("point-trap", run_dir=path, generations=1, **settings)
    return path


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def call(capsys, *words):
    """Exit code and standard error."""
    try:
        code = main([*words])
    except SystemExit as stop:
        code = stop.code
    return code, capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        [*TRAIN, "--environment", f"a={DEEP}"],
        [*TRAIN, "--environment", "a=" + '{"b":' * 1500],
        [*TRAIN, "--environment", "half_width=wide"],
        [*TRAIN, "--environment", "half_width=Infinity"],
        [*TRAIN, "--environment", "half_width=[1]"],
        [*TRAIN, "--sigma", "1e400"],
        [*TRAIN, "--run-dir", "x" * 5000],
        [*TRAIN, "--run-dir", "loop"],
        [*TRAIN, "--run-dir", "\0"],
        ["reproduce", "point-trap", "--recipe", "smoke", "--settings", f"n={DEEP}"],
        ["reproduce", "point-trap", "--recipe", "smoke", "--settings", "sigma=Infinity"],
        ["reproduce", "point-trap", "--recipe", "smoke", "--runs", "9" * 30],
        *([command, "x" * 5000] for command in ("info", "resume", "evaluate", "compare", "watch")),
        *([command, "a/" * 3000] for command in ("info", "resume", "evaluate", "compare")),
        *([command, "loop"] for command in ("info", "resume", "evaluate", "compare")),
        *([command, "a\0b"] for command in ("info", "resume", "evaluate", "compare")),
    ],
)
def test_l4_odd_words_are_an_error_of_usage(capsys, words):
    Path("loop").symlink_to("loop")
    code, err = call(capsys, *words)
    assert code in (2, 3, 4)
    assert err.startswith("nses: ") or words[-1] == "1e400"
    assert "Traceback" not in err


def test_l4_a_value_that_is_nested_too_deeply_is_named(capsys):
    code, err = call(capsys, *TRAIN, "--environment", f"a={DEEP}")
    assert code == 2
    assert "environment a is nested too deeply" in err
    assert len(err) < 500


ODD = {
    "infinite": {"sigma": float("inf")},
    "no number": {"sigma": float("nan")},
    "huge": {"sigma": 10**400},
    "deep": {"environment": [f"a={DEEP}"]},
    "nested": {"hidden": [[1, 2], [3]]},
    "nested text": {"environment": [["a=1"]]},
    "table": {"seed": {"a": 1}},
    "listed": {"algorithm": ["es"]},
}


@pytest.mark.parametrize("settings", ODD.values(), ids=ODD)
@pytest.mark.parametrize("command", ["info", "resume", "evaluate"])
def test_l4_odd_values_in_a_configuration_are_damage(run, capsys, settings, command):
    shutil.copytree(run, "run")
    document = json.loads(Path("run/config.json").read_text())
    document["config"] |= settings
    Path("run/config.json").write_text(json.dumps(document))
    code, err = call(capsys, command, "run")
    assert (code, err.startswith("nses: run/config.json is")) == (3, True)


def test_l4_a_configuration_that_is_a_directory_or_a_loop_is_damage(run, capsys):
    shutil.copytree(run, "run")
    config = Path("run/config.json")
    config.unlink()
    config.mkdir()
    assert call(capsys, "info", "run")[0] == 3
    config.rmdir()
    config.symlink_to("config.json")
    assert call(capsys, "info", "run")[0] == 3


@pytest.mark.parametrize("noted", [5, "x", None, {"a": 1}])
def test_l4_odd_notes_of_resumption_are_damage(run, capsys, noted):
    shutil.copytree(run, "run")
    document = json.loads(Path("run/config.json").read_text())
    Path("run/config.json").write_text(json.dumps(document | {"resumed": noted}))
    code, err = call(capsys, "resume", "run", "--generations", "2")
    assert (code, "resumed" in err) == (3, True)


@pytest.mark.parametrize("command", [["evaluate"], ["compare"]])
def test_l4_an_argument_of_the_environment_of_another_kind_is_named(run, capsys, command):
    shutil.copytree(run, "run")
    document = json.loads(Path("run/config.json").read_text())
    document["config"]["environment"] = ["half_width=wide"]
    Path("run/config.json").write_text(json.dumps(document))
    code, err = call(capsys, *command, "run")
    assert code in (2, 3)
    assert "half_width must lie between 0.4 and 100, or be null for no walls, got wide" in err
