"""The mutants that the tests of core are tried on: small, valid, and only where code computes."""

from pathlib import Path

import pytest
from benchmarks.mutants import CORE, ROOT, mutants_of, report
from benchmarks.survivors import EQUIVALENT, REASONS
from benchmarks.trial import rounds

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


@pytest.mark.parametrize(("file", "count"), [("noise.py", 2), ("hyperparameters.py", 1)])
def test_a_mutant_is_tried_on_tests_that_exist(file: str, count: int) -> None:
    tried = list(rounds(file))
    assert len(tried) == count
    paths = [argument for tests in tried for argument in tests if not argument.startswith("--")]
    assert all((ROOT / path).exists() for path in paths)


def test_the_report_counts_equivalent_mutants_once_with_and_once_without() -> None:
    source = (ROOT / CORE / "distances.py").read_text()
    mutants = list(mutants_of("distances.py", source))
    same = [m for m in mutants if m.name in EQUIVALENT]
    other = next(m for m in mutants if m.name not in EQUIVALENT)
    text = report([*same, other, other], [*same, other])
    assert "1 of 4 killed (25.0%)" in text
    assert "of the 2 that are not equivalent 50.0%" in text
    assert text.count("no test notices") == 1
