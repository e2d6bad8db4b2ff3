import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MAP = ROOT / "docs" / "paper-map.md"


def table_rows():
    """The cells of each row of the table, without its head."""
    lines = [line for line in MAP.read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def references():
    """Each `path` or `path:name` of the last column."""
    return sorted({name for row in table_rows() for name in re.findall(r"`([^`]+)`", row[-1])})


def names_in(path):
    """Functions, classes, methods and constants that a file defines."""
    names = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        if isinstance(node, ast.ClassDef):
            methods = (child for child in node.body if isinstance(child, ast.FunctionDef))
            names.update(f"{node.name}.{method.name}" for method in methods)
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        names.update(target.id for target in targets if isinstance(target, ast.Name))
    return names


@pytest.mark.parametrize("reference", references())
def test_the_map_leads_to_code_that_exists(reference):
    path, _, name = reference.partition(":")
    assert (ROOT / path).is_file()
    assert not name or name in names_in(ROOT / path)


def test_every_row_of_the_map_leads_somewhere():
    assert len(table_rows()) > 20
    for row in table_rows():
        assert len(row) == 3
        assert "`" in row[-1]


def test_every_equation_and_algorithm_of_the_paper_is_on_the_map():
    places = " ".join(row[0] for row in table_rows())
    for place in ("2.1", "2.2", "3.1", "3.2", "4.1", "Eq. 1", "Algorithms 1–3", "Algorithm 3"):
        assert place in places
