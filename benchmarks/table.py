"""How results are printed, and where they are kept."""

from datetime import date
from pathlib import Path

from benchmarks.foundation import Measure
from nses.execution.versions import current_versions

RESULTS = Path(__file__).parent / "results"
HEAD = ["| measure | result | bound | met | repeat with |", "|---|---|---|---|---|"]


def line_of(m: Measure, words: str) -> str:
    met = "yes" if m.met else "NO"
    command = f"`python -m benchmarks {words}`"
    return f"| {m.what} | {m.result:.3g} {m.unit} | {m.bound} | {met} | {command} |"


def keep(title: str, rows: list[str], head: list[str] = HEAD) -> None:
    versions = ", ".join(f"{name} {version}" for name, version in current_versions().items())
    today = date.today().isoformat()
    file = RESULTS / f"{today}-{title}.md"
    file.write_text(f"# {title}, {today}\n\n{versions}\n\n" + "\n".join([*head, *rows]) + "\n")
    print(f"\nkept in {file.relative_to(Path.cwd())}", flush=True)
