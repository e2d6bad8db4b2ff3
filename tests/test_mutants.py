"""The mutants that the tests of core are tried on: small, valid, and only where code computes."""

from pathlib import Path

import pytest
from benchmarks.mutants import CORE, ROOT, mutants_of
from benchmarks.survivors import REASONS

SOURCE = '''
Alias = int | None
LIMIT = -0.5

def f(x: int | None = 3) -> float | None:
    """1 + 1."""
    if not x <= LIMIT and x is not None:
        raise ValueError(f"{x + 1}")
    assert x == 2
    x += max(x, 1)
    return x * 2.0
'''


def test_they_change_one_thing_each_where_code_computes() -> None:
    assert {m.name.split("  →  ")[1] for m in mutants_of("f.py", SOURCE)} == {
        "LIMIT = 0.5",
        "LIMIT = -1.0",
        "def f(x: int | None = 4) -> float | None:",
        "if (not (not x <= LIMIT and x is not None)):",
        "if  x <= LIMIT and x is not None:",
        "if not x < LIMIT and x is not None:",
        "if not x <= LIMIT or x is not None:",
        "if not x <= LIMIT and x is None:",
        "x -= max(x, 1)",
        "x += min(x, 1)",
        "x += max(x, 2)",
        "return x / 2.0",
        "return x * 4.0",
    }


@pytest.mark.parametrize("path", sorted((ROOT / CORE).glob("*.py")), ids=lambda path: path.name)
def test_every_mutant_of_core_is_a_valid_program(path: Path) -> None:
    source = path.read_text()
    for mutant in mutants_of(path.name, source):
        compile(mutant.text, mutant.file, "exec")
        assert mutant.text != source


def test_the_survivors_that_are_explained_exist() -> None:
    paths = (ROOT / CORE).glob("*.py")
    names = {m.name for path in paths for m in mutants_of(path.name, path.read_text())}
    assert REASONS.keys() <= names
