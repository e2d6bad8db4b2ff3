"""The examples run and show what they say they show."""

import re
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"


def output_of(name, tmp_path, *arguments):
    done = subprocess.run(
        [sys.executable, EXAMPLES / name, *arguments], capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_ask_tell_finds_the_higher_hill_with_novelty_only(tmp_path):
    es, nsra = output_of("ask_tell.py", tmp_path).splitlines()
    assert float(es.split()[3]) == pytest.approx(1.0, abs=0.01)
    assert float(nsra.split()[3]) == pytest.approx(3.0, abs=0.05)


@pytest.mark.slow
def test_a_loop_of_your_own_leaves_the_trap(tmp_path):
    assert "out of the trap in generation" in output_of("own_loop.py", tmp_path)


def test_only_the_long_way_through_the_maze_leads_to_the_goal():
    environment = runpy.run_path(str(EXAMPLES / "maze.py"))["Maze"]()

    def found(*way):
        environment.reset(seed=0)
        steps = (environment.step(np.array(d)) for d, n in way for _ in range(n))
        return any(terminated and reward > 9 for _, reward, terminated, _, _ in steps)

    right, up, down = (1.0, 0.0), (0.0, -1.0), (0.0, 1.0)
    assert not found((right, 40))
    assert not found((down, 20), (right, 40))
    assert found((up, 20), (right, 40), (down, 20))


@pytest.mark.slow
def test_the_custom_task_trains(tmp_path):
    assert output_of("custom_task.py", tmp_path)


def test_the_short_version_is_at_most_100_lines_and_needs_numpy_only():
    text = (EXAMPLES / "nsra_in_100_lines.py").read_text()
    assert len(text.splitlines()) <= 100
    imports = [line for line in text.splitlines() if line.startswith(("import", "from"))]
    assert not any("nses" in line or "scipy" in line for line in imports)


@pytest.mark.slow
def test_another_library_trains_on_our_environments(tmp_path):
    pytest.importorskip("stable_baselines3")
    text = output_of("train_with_sb3.py", tmp_path, "2048")
    assert re.search(r"swims to x = -?\d+\.\d+", text)


def test_the_example_of_another_library_says_what_to_install(tmp_path):
    program = (
        "import runpy, sys; sys.modules['stable_baselines3'] = None; "
        f"runpy.run_path({str(EXAMPLES / 'train_with_sb3.py')!r}, run_name='__main__')"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 2
    assert done.stderr == ("this example needs Stable-Baselines3: pip install stable-baselines3\n")
