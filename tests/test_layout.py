"""Files are short, and tests mirror the package: who knows a module knows where its tests are."""

import ast
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
PACKAGE = TESTS.parent / "src" / "nses"

# Modules whose tests have another name, since several are only seen at work together.
ELSEWHERE = {
    "__main__.py": "cli/test_cli.py",
    "cli/arguments.py": "cli/test_odd_words.py",
    "cli/check.py": "experiment/test_check.py",
    "cli/export.py": "experiment/export/test_onnx.py",
    "cli/render.py": "experiment/export/test_video.py",
    "cli/watch.py": "experiment/showing/test_dashboard.py",
    "core/hyperparameters.py": "core/test_algorithms.py",
    "execution/batch.py": "execution/test_pool.py",
    "execution/forecast.py": "execution/test_ray.py",
    "execution/node.py": "execution/test_ray.py",
    "execution/one_cluster.py": "experiment/test_ray_runs.py",
    "execution/output.py": "cli/test_output.py",
    "experiment/analysis/groups.py": "experiment/analysis/test_comparison.py",
    "execution/playing.py": "execution/test_worker.py",
    "experiment/analysis/simulated.py": "experiment/analysis/test_simulation.py",
    "execution/roster.py": "execution/test_ray.py",
    "execution/summing.py": "execution/test_ray.py",
    "execution/surroundings.py": "execution/test_janitor.py",
    "execution/watch.py": "execution/test_ray.py",
    "experiment/doctor.py": "cli/test_doctor.py",
    "experiment/estimate.py": "experiment/settings/test_memory.py",
    "experiment/evaluate.py": "cli/test_evaluate.py",
    "experiment/export/graph.py": "experiment/export/test_onnx.py",
    "experiment/fleet.py": "experiment/test_reproduce.py",
    "experiment/runs/history.py": "experiment/runs/test_replay.py",
    "experiment/runs/saving.py": "experiment/test_train.py",
    "experiment/settings/build.py": "experiment/test_train.py",
    "experiment/settings/values.py": "experiment/settings/test_config.py",
    "experiment/showing/cells.py": "experiment/showing/test_tables.py",
    "experiment/showing/info.py": "experiment/showing/test_terminal.py",
    "experiment/showing/made.py": "experiment/showing/test_report.py",
    "experiment/showing/markup.py": "experiment/showing/test_report.py",
    "experiment/showing/pace.py": "experiment/showing/test_terminal.py",
    "experiment/showing/panels.py": "experiment/showing/test_dashboard.py",
    "experiment/showing/plot_parts.py": "experiment/showing/test_report.py",
    "experiment/showing/plots.py": "experiment/showing/test_report.py",
    "experiment/showing/progress.py": "experiment/showing/test_terminal.py",
    "experiment/showing/watched.py": "experiment/showing/test_dashboard.py",
    "rollouts/plugins.py": "rollouts/test_conformance.py",
    "rollouts/look.py": "execution/test_looking.py",
}

MODULES = [
    path.relative_to(PACKAGE) for path in sorted(PACKAGE.rglob("*.py")) if path.stem != "__init__"
]


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_every_module_has_its_tests_in_the_same_folder_or_a_note_of_where_they_are(
    module: Path,
) -> None:
    twin = module.with_name(f"test_{module.name}")
    assert (TESTS / ELSEWHERE.get(str(module), twin)).is_file()


def test_notes_are_of_modules_that_have_no_twin() -> None:
    assert ELSEWHERE.keys() <= {str(module) for module in MODULES}
    for name in ELSEWHERE:
        assert not (TESTS / name).with_name(f"test_{Path(name).name}").exists()


def test_tests_do_not_import_each_other() -> None:
    modules = {path.stem for path in TESTS.rglob("test_*.py")}
    for path in TESTS.rglob("*.py"):
        assert not imported_by(path) & modules, path


LONGEST_FILE, LONGEST_FUNCTION = 300, 50  # lines; of a function, without its docstring
REASON = "# Long because "  # in the line above a function that is longer


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_files_and_functions_are_short_or_say_why_not(module: Path) -> None:
    text = (PACKAGE / module).read_text()
    lines = text.splitlines()
    assert len(lines) <= LONGEST_FILE
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = len(ast.get_source_segment(text, node).splitlines())  # type: ignore[union-attr]
            length -= len((ast.get_docstring(node, clean=False) or "").splitlines())
            first = min([node, *node.decorator_list], key=lambda part: part.lineno).lineno
            explained = lines[first - 2].strip().startswith(REASON)
            assert (length > LONGEST_FUNCTION) == explained, f"{node.name} has {length} lines"


def imported_by(path: Path) -> set[str]:
    """Every part of the names that a file imports."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {node.module or "", *(alias.name for alias in node.names)}
    return {part for name in names for part in name.split(".")}
