"""`python -m benchmarks mutants`: would the tests of `core` notice a wrong line?

Changes one operator, number or condition of `core` at a time and runs the tests of `core` on it. A
mutant that passes them all has survived: either a test is missing, or the change means nothing,
which `benchmarks/survivors.py` then explains.
"""

import argparse
import ast
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from queue import SimpleQueue
from random import Random

from benchmarks.survivors import EQUIVALENT, REASONS
from benchmarks.trial import CORE, LONGEST, OVERDUE, ROOT, Trial

OPERATORS: dict[type[ast.AST], tuple[str, str]] = {
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "/"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"),
    ast.Pow: ("**", "*"),
    ast.LShift: ("<<", ">>"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: ("|", "&"),
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
    ast.And: ("and", "or"),
    ast.Or: ("or", "and"),
}
OPPOSITES = {"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum"}


@dataclass(frozen=True)
class Mutant:
    """A file of `core` with source[start:stop] replaced by `after`."""

    file: str
    start: int
    stop: int
    after: str
    source: str

    @property
    def text(self) -> str:
        return self.source[: self.start] + self.after + self.source[self.stop :]

    @property
    def line(self) -> int:
        return self.source.count("\n", 0, self.start) + 1

    @property
    def name(self) -> str:
        """The line before and after, which stays what it is when lines above it change."""
        first = self.source.rfind("\n", 0, self.start) + 1
        last = self.source.find("\n", self.stop)
        old = self.source[first:last]
        new = old[: self.start - first] + self.after + old[self.stop - first :]
        return f"{old.strip()}  →  {new.strip()}"


def mutants_of(file: str, source: str) -> Iterator[Mutant]:
    """All of a file, in the order in which they stand."""
    places = [0]
    for line in source.splitlines(keepends=True):
        places.append(places[-1] + len(line))

    def place(line: int, column: int) -> int:
        text = source.splitlines()[line - 1].encode()[:column].decode()  # columns count bytes
        return places[line - 1] + len(text)

    def span(node: ast.expr) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        first = place(node.lineno, node.col_offset)
        return first, place(node.end_lineno, node.end_col_offset)

    def between(left: ast.expr, right: ast.expr, kind: ast.AST) -> Iterator[Mutant]:
        if type(kind) in OPERATORS:
            old, new = OPERATORS[type(kind)]
            start = source.index(old, span(left)[1], span(right)[0])
            yield Mutant(file, start, start + len(old), new, source)

    for node in _judged(ast.parse(source)):
        match node:
            case ast.Constant(value=bool() | int() | float() as value):
                yield Mutant(file, *span(node), _other(value), source)
            case ast.UnaryOp(op=ast.USub()):
                yield Mutant(file, span(node)[0], span(node)[0] + len("-"), "", source)
            case ast.UnaryOp(op=ast.Not()):
                yield Mutant(file, span(node)[0], span(node)[0] + len("not"), "", source)
            case ast.BinOp(left=left, op=kind, right=right):
                yield from between(left, right, kind)
            case ast.AugAssign(target=ast.expr() as left, op=kind, value=right):
                yield from between(left, right, kind)
            case ast.Compare(left=left, ops=kinds, comparators=others):
                for a, kind, b in zip([left, *others], kinds, others, strict=False):
                    yield from between(a, b, kind)
            case ast.BoolOp(op=kind, values=[first, second, *_]):
                yield from between(first, second, kind)
            case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
                start, stop = span(test)
                yield Mutant(file, start, stop, f"(not ({source[start:stop]}))", source)
            case ast.Name(id=name) | ast.Attribute(attr=name) if name in OPPOSITES:
                stop = span(node)[1]
                yield Mutant(file, stop - len(name), stop, OPPOSITES[name], source)
            case _:
                pass


def _other(value: bool | int | float) -> str:
    if isinstance(value, bool):
        return str(not value)
    return str(value + 1) if isinstance(value, int) else str(2 * value or 1.0)


def _judged(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes that compute: no types, messages, decorators or assertions."""
    for name, field in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        for child in field if isinstance(field, list) else [field]:
            if not isinstance(child, ast.AST) or isinstance(child, ast.Raise | ast.Assert):
                continue
            if isinstance(child, ast.JoinedStr) or _names_a_type(child):
                continue
            yield child
            yield from _judged(child)


def _names_a_type(node: ast.AST) -> bool:
    match node:
        case ast.Assign(targets=[ast.Name(id=name)]):
            return name[0].isupper() and not name.isupper()
        case _:
            return False


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser("python -m benchmarks mutants", description=__doc__)
    parser.add_argument("--sample", type=int, help="try so many, chosen by the seed (all)")
    parser.add_argument("--seed", type=int, default=0, help="of the sample (0)")
    parser.add_argument("--workers", type=int, default=2, help="how many at a time (2)")
    parser.add_argument("--files", nargs="+", help="of core (all)")
    parser.add_argument("--lines", nargs="+", help="only where a line contains one of these texts")
    given = parser.parse_args(arguments)
    files = given.files or sorted(path.name for path in (ROOT / CORE).glob("*.py"))
    mutants = [m for f in files for m in mutants_of(f, (ROOT / CORE / f).read_text())]
    if given.lines:
        mutants = [m for m in mutants if any(text in m.name for text in given.lines)]
    if given.sample:
        mutants = Random(given.seed).sample(mutants, min(given.sample, len(mutants)))
    if not mutants:
        parser.error("there is no such mutant.")
    print(f"{len(mutants)} mutants of {len(files)} files", flush=True)
    with tempfile.TemporaryDirectory(prefix="nses-mutants-") as name:
        survivors = tried(mutants, Path(name), given.workers)
    text = report(mutants, survivors)
    print(text)
    if not (given.sample or given.files or given.lines):
        keep(text, " ".join(arguments))
    return 1 if any(m.name not in REASONS for m in survivors) else 0


def tried(mutants: list[Mutant], place: Path, workers: int) -> list[Mutant]:
    """Those that the tests let pass."""
    free: SimpleQueue[Trial] = SimpleQueue()
    begin = time.monotonic()
    for i in range(workers):
        free.put(Trial(_made(place / str(i)), place / f"cache-{i}"))

    def try_one(numbered: tuple[int, Mutant]) -> bool:
        i, mutant = numbered
        trial = free.get()
        try:
            code = trial.noticed(mutant.file, mutant.text)
        finally:
            free.put(trial)
        if code in (0, OVERDUE):
            known = "explained" if mutant.name in REASONS else "SURVIVED"
            what = known if code == 0 else f"stopped after {LONGEST:.0f} s"
            print(f"{what}: {mutant.file}:{mutant.line}: {mutant.name}", flush=True)
        if i % 50 == 49:
            print(f"{i + 1} tried in {(time.monotonic() - begin) / 60:.0f} min", flush=True)
        return code != 0

    with ThreadPoolExecutor(workers) as pool:
        killed = list(pool.map(try_one, enumerate(mutants)))
    for _ in range(workers):
        free.get().close()
    return [mutant for mutant, dead in zip(mutants, killed, strict=True) if not dead]


def _made(place: Path) -> Path:
    place.mkdir()
    return place


def report(mutants: list[Mutant], survivors: list[Mutant]) -> str:
    """The table, and every survivor with its reason."""
    lines = ["| file | mutants | killed | explained | missed |", "|---|---|---|---|---|"]
    for file in sorted({m.file for m in mutants}):
        alive = [m for m in survivors if m.file == file]
        explained, count = sum(m.name in REASONS for m in alive), _count(mutants, file)
        cells = (file, count, count - len(alive), explained, len(alive) - explained)
        lines.append(f"| {' | '.join(map(str, cells))} |")
    killed = len(mutants) - len(survivors)
    different = max(1, sum(m.name not in EQUIVALENT for m in mutants))
    lines += ["", f"{killed} of {len(mutants)} killed ({killed / len(mutants):.1%}),"]
    lines += [f"or of the {different} that are not equivalent {killed / different:.1%}.", ""]
    for m in survivors:
        lines.append(f"- {m.file}: `{m.name}`: {REASONS.get(m.name, 'no test notices')}")
    return "\n".join(lines)


def keep(text: str, arguments: str) -> None:
    """In benchmarks/results; part of the mutants would not be worth it."""
    today = date.today().isoformat()
    command = f"python -m benchmarks mutants {arguments}".strip()
    file = ROOT / "benchmarks" / "results" / f"{today}-mutants.md"
    file.write_text(f"# Mutants of core, {today}\n\n`{command}`\n\n{text}\n")


def _count(mutants: list[Mutant], file: str) -> int:
    return sum(m.file == file for m in mutants)
