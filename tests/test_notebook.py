"""The notebook in examples/ runs in a real kernel, shows what it promises, and can be stopped."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

NOTEBOOK = Path(__file__).parent.parent / "examples" / "notebook.ipynb"

EXECUTE = """
import sys
import nbformat
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell

notebook = nbformat.read(sys.argv[1], 4)
notebook.cells.append(new_code_cell(sys.argv[2]))
NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
nbformat.write(notebook, "executed.ipynb")
"""

# The stop button sends SIGINT, and an impatient user presses it twice.
STOPPED = """
import os, signal

def press(state, record):
    if state.generation == 3:
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)

small = {"recipe": "smoke", "backend": "serial", "seed": 1, "algorithm": "es"}
try:
    nses.train("point-trap", listener=press, run_dir="stopped", **small)
except KeyboardInterrupt:
    print("interrupted in generation", nses.load("stopped").state.generation)
whole = nses.train("point-trap", run_dir="whole", **small)
print("the same bits:", nses.resume("stopped").digest == whole.digest)
"""


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    """All that the cells showed: for each code cell, its outputs."""
    here = tmp_path_factory.mktemp("notebook")
    places = dict.fromkeys(("IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR"), str(here))
    done = subprocess.run(
        [sys.executable, "-c", EXECUTE, str(NOTEBOOK), STOPPED],
        cwd=here,
        env={**os.environ, **places, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    cells = json.loads((here / "executed.ipynb").read_text())["cells"]
    return [json.dumps(cell["outputs"]) for cell in cells if cell["cell_type"] == "code"]


@pytest.mark.slow
def test_its_cells_show_a_full_bar_tables_figures_and_short_lines(outputs):
    first, curve, archive_map, metrics, tested, comparison, strategy, _ = outputs
    assert '<progress value=\\"60\\" max=\\"60\\"' in first
    assert "60 of 60, finished" in first
    assert all("application/vnd.plotly.v1+json" in figure for figure in (curve, archive_map))
    assert "text/plain" in metrics
    assert "over 10 fresh episodes" in tested
    assert "True" in tested
    assert "nsr-es" in comparison
    assert "<table" in comparison
    assert "<nsra-es strategy: generation 20" in strategy


@pytest.mark.slow
def test_pressing_stop_twice_keeps_the_kernel_and_all_finished_generations(outputs):
    assert "interrupted in generation 3" in outputs[-1]
    assert "the same bits: True" in outputs[-1]


def test_it_is_stored_without_outputs():
    cells = json.loads(NOTEBOOK.read_text())["cells"]
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in cells)
