"""Problems of strangers, through the command line and Python, with resume: the same bits."""

from typing import Any

import pytest

import nses
from commands import call

FAST: dict[str, Any] = {"recipe": "smoke", "n": 4, "evaluation_episodes": 1, "seed": 3}
PRACTICAL: dict[str, Any] = {"backend": "serial", "tensorboard": False}
FLAGS = ["--backend", "serial", "--no-tensorboard", "--no-pictures", "--recipe", "smoke"]
FLAGS += ["--n", "4", "--evaluation-episodes", "1", "--seed", "3"]

PROBLEMS: dict[str, tuple[str, dict[str, Any], list[str]]] = {
    "MiniGrid by module and id": (
        "minigrid:MiniGrid-Empty-5x5-v0",
        {"observation": "image,direction", "behavior": "final-observation:0", "max_steps": 8},
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
    flags = [*flags, *FLAGS, "--max-steps", str(settings["max_steps"]), "--run-dir", "a"]
    if "behavior" in settings:
        flags += ["--behavior", settings["behavior"]]
    for command in (
        ["train", task, *flags, "--generations", "1"],
        ["resume", "a", "--generations", "2"],
        ["evaluate", "a", "--episodes", "2"],
        ["replay", "a", "--generation", "1", "--candidate", "2"],
    ):
        code, out, err = call(capsys, *command)
        assert code == 0, out + err
    assert "same bits           true" in out
    run = nses.train(task, generations=2, run_dir="b", **FAST, **PRACTICAL, **settings)
    assert run.digest == nses.load("a").digest
    observation, _ = run.task().make().reset(seed=0)
    assert run.facts.action_space.contains(run.policy()(observation))
