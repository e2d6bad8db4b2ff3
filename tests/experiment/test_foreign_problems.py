"""Problems of strangers, through the command line and Python, with resume: the same bits."""

import json
import sys
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.wrappers import TransformObservation

import nses
from commands import call
from foreign_problems import Levers, Screen
from nses.experiment import begin
from nses.rollouts.policies.mlp import MLP
from sources import write_registered
from tables import small_tables
from toys import CORRIDOR

_small_tables = pytest.fixture(scope="module", autouse=True)(small_tables)

FAST: dict[str, Any] = {"recipe": "smoke", "n": 4, "evaluation_episodes": 1, "seed": 3}
PRACTICAL: dict[str, Any] = {"backend": "serial", "tensorboard": False}
FLAGS = ["--backend", "serial", "--no-tensorboard", "--no-pictures", "--recipe", "smoke"]
FLAGS += ["--n", "4", "--evaluation-episodes", "1", "--seed", "3"]

PROBLEMS: dict[str, tuple[str, dict[str, Any], list[str]]] = {
    "MiniGrid by module and id": (
        "minigrid:MiniGrid-Empty-5x5-v0",
        {"observation": "image,direction", "behavior": "final-attribute:agent_pos"},
        ["--observation", "image,direction"],
    ),
    "MiniGrid after an import": (
        "MiniGrid-Empty-5x5-v0",
        {"imports": ["minigrid"], "observation": "direction", "max_steps": 8},
        ["--import", "minigrid", "--observation", "direction"],
    ),
    "LunarLander": ("LunarLander-v3", {"max_steps": 15}, []),
    "LunarLander with continuous actions": (
        "LunarLander-v3",
        {"max_steps": 15, "environment": {"continuous": True}},
        ["--environment", "continuous=true"],
    ),
    "an image": (
        "foreign_problems:Screen",
        {"behavior": "final:x,y", "max_steps": 8, "reference": 3},
        ["--reference", "3"],
    ),
    "several choices": (
        "foreign_problems:Levers",
        {"behavior": "final:pulled", "max_steps": 8},
        [],
    ),
}


# Box2D's bindings are of an old style, at which Python grumbles; as an error that would be fatal.
@pytest.mark.filterwarnings("ignore:builtin type .* has no __module__:DeprecationWarning")
@pytest.mark.parametrize("problem", PROBLEMS)
def test_the_command_line_and_python_give_the_same_run(problem, tmp_path, monkeypatch, capsys):
    for module in ("minigrid", "Box2D"):
        pytest.importorskip(module, reason=f"needs {module}, of the extra dev")
    monkeypatch.chdir(tmp_path)
    task, settings, flags = PROBLEMS[problem]
    flags = [*flags, *FLAGS, "--run-dir", "a"]
    for name in ("behavior", "max_steps"):
        if name in settings:
            flags += [f"--{name.replace('_', '-')}", str(settings[name])]
    for command in (
        ["train", task, *flags, "--generations", "1"],
        ["resume", "a", "--generations", "2"],
        ["evaluate", "a", "--episodes", "2"],
        ["replay", "a", "--generation", "1", "--candidate", "2", "--json"],
    ):
        code, out, err = call(capsys, *command)
        assert code == 0, out + err
    assert json.loads(out)["same bits"]
    run = nses.train(task, generations=2, run_dir="b", **FAST, **PRACTICAL, **settings)
    assert run.digest == nses.load("a").digest
    assert run.config.network == ("conv" if problem == "an image" else "auto")
    observation, _ = run.task().make().reset(seed=0)
    assert run.facts.action_space.contains(run.policy()(observation))


@pytest.fixture
def registered(tmp_path, monkeypatch):
    """Modules of a user in the working directory."""
    write_registered(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    yield
    gym.registry.pop("Walk-v0", None)
    for name in ("walks", "nets"):
        sys.modules.pop(name, None)


@pytest.mark.usefixtures("registered")
@pytest.mark.parametrize("words", [["walks:Walk-v0"], ["Walk-v0", "--import", "walks"]])
def test_two_workers_import_what_registers_an_environment_and_what_defines_a_network(words, capsys):
    train = ["train", *words, "--policy-class", "nets:Net", *FLAGS[2:], "--generations", "2"]
    for where in (["serial"], ["processes", "--workers", "2"]):
        code, out, err = call(capsys, *train, "--backend", *where, "--run-dir", where[0])
        assert code == 0, out + err
    assert nses.load("processes").digest == nses.load("serial").digest


IMAGE: dict[str, Any] = {"max_steps": 6, "reference": 2, "generations": 1, **FAST, **PRACTICAL}


def test_pixels_are_no_behavior_unless_somebody_says_so(tmp_path):
    with pytest.raises(nses.errors.UsageError, match=r"are images, .* final:x,y takes"):
        nses.train("foreign_problems:Screen", run_dir=tmp_path / "a", **IMAGE)
    assert not (tmp_path / "a").exists()
    small = {"environment": {"shape": [8, 8, 3]}, "behavior": "final-observation"}
    assert nses.train("foreign_problems:Screen", run_dir=tmp_path / "a", **IMAGE, **small)


class Twofold(Screen):
    """An image, and a number of two."""

    def __init__(self) -> None:
        super().__init__((8, 8))
        screen, half = self.observation_space, spaces.Discrete(2)
        self.observation_space = spaces.Dict({"screen": screen, "half": half})

    def look(self) -> Any:
        return {"screen": self.drawn((8, 8)), "half": int(self.place[1] > 3)}


def test_an_image_beside_other_entries_is_flattened_and_this_is_said(tmp_path, caplog):
    task = nses.Task("twofold", Twofold, nses.make_task("point").behavior, step_limit=6)
    run = nses.train(task, run_dir=tmp_path / "a", **IMAGE)
    assert run.policy().theta.size == (8 * 8 + 2 + 1) * 16 + 17 * 16 + 17 * 4
    assert "the image 'screen' in the observations is flattened" in caplog.text
    assert "--observation screen (observation='screen')" in caplog.text
    caplog.clear()
    nses.train(task, run_dir=tmp_path / "b", network="mlp", **IMAGE)
    assert not caplog.text
    run = nses.train(task, run_dir=tmp_path / "c", observation="screen", **IMAGE)
    assert run.config.network == "conv"


def test_a_run_of_an_older_version_goes_on_with_its_flattened_image(tmp_path, monkeypatch):
    settings = {**IMAGE, "behavior": "final:x,y", "environment": {"shape": [3, 8, 8]}}
    with monkeypatch.context() as older:
        older.setattr(begin, "with_network", lambda config, facts: config)
        run = nses.train("foreign_problems:Screen", run_dir=tmp_path / "a", **settings)
    assert (run.config.network, run.reference) == ("auto", None)
    longer = {**settings, "generations": 2}
    for _ in range(2):
        run = nses.train("foreign_problems:Screen", run_dir=tmp_path / "a", **longer)
        assert isinstance(run.family, MLP)
        assert run.state.generation == 2


def test_images_of_floats_have_a_reference_that_is_stored(tmp_path):
    def make() -> Any:
        screen = Screen((3, 8, 8))
        space = spaces.Box(0, 1, (3, 8, 8), np.float64)
        return TransformObservation(screen, lambda o: o / 255, space)

    task = nses.Task("floats", make, nses.make_task("point").behavior, step_limit=6)
    run = nses.train(task, run_dir=tmp_path / "a", **IMAGE)
    assert (run.reference.dtype, run.reference.shape) == (np.float32, (2, 3, 8, 8))
    assert {*run.reference.ravel().tolist()} == {0.0, 1.0}
    again = nses.resume(run.path, task, generations=2)
    whole = nses.train(task, run_dir=tmp_path / "b", **{**IMAGE, "generations": 2})
    assert again.digest == whole.digest


def test_a_class_is_recorded_by_name_and_found_by_the_commands(tmp_path, capsys):
    run = nses.train(Levers, run_dir=tmp_path / "a", behavior=lambda o, i: i["pulled"], **IMAGE)
    assert run.own_task
    run = nses.train(Levers, run_dir=tmp_path / "b", behavior="final:pulled", **IMAGE)
    assert (run.config.task, run.own_task) == ("foreign_problems:Levers", False)
    code, out, err = call(capsys, "evaluate", str(run.path), "--episodes", "2")
    assert code == 0, out + err


def test_a_task_object_of_a_module_is_found_by_the_commands(tmp_path, capsys):
    path = str(nses.train(CORRIDOR, run_dir=tmp_path / "a", **IMAGE).path)
    for command in (
        ["resume", path, "--generations", "2"],
        ["evaluate", path, "--episodes", "2"],
        ["replay", path, "--generation", "2", "--json"],
    ):
        code, out, err = call(capsys, *command)
        assert code == 0, out + err
    assert json.loads(out)["same bits"]


def test_a_task_object_that_no_module_holds_has_to_be_named(tmp_path, capsys):
    nameless = CORRIDOR.revised(name="nameless")
    run = nses.train(nameless, run_dir=tmp_path / "a", **IMAGE)
    code, _, err = call(capsys, "evaluate", str(run.path))
    assert code == 2
    assert "--task module:attribute" in err
    assert run.evaluate(episodes=2).returns.shape == (2,)  # it was returned by train
    loaded = nses.load(run.path)
    with pytest.raises(nses.errors.UsageError, match=r"nses\.evaluate\(run, task=\.\.\.\)"):
        loaded.evaluate()
    assert nses.evaluate(loaded, task=nameless, episodes=2).returns.shape == (2,)
    for command in (
        ["evaluate"],
        ["replay", "--generation", "1"],
        ["resume", "--generations", "2"],
    ):
        words = [command[0], str(run.path), *command[1:], "--task", "toys:CORRIDOR"]
        code, out, err = call(capsys, *words)
        assert code == 0, out + err
