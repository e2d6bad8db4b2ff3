"""`python -m benchmarks [NAME...]`: measures, prints a table and keeps it in benchmarks/results.

A NAME is a measure or a topic, which is all its measures. Every topic has a file of its own.
`fuzz` and `soak` measure nothing: they try to break it. `mutants` tries the tests instead.
"""

import importlib
import sys
from datetime import date
from pathlib import Path

from benchmarks import atari, bodies, experiments, foundation
from nses.experiment.runs.document import current_versions

RESULTS = Path(__file__).parent / "results"
TOPICS = {
    "foundation": foundation.MEASURES,
    "mujoco": bodies.MEASURES,
    "atari": atari.MEASURES,
    "experiments": experiments.MEASURES,
}
TRIALS = ("fuzz", "soak", "mutants")  # programs with arguments of their own
HEAD = ["| measure | result | bound | met | repeat with |", "|---|---|---|---|---|"]


def main(names: list[str]) -> int:
    if names and names[0] in TRIALS:
        return importlib.import_module(f"benchmarks.{names[0]}").main(names[1:])
    known = {*TOPICS, *(name for measures in TOPICS.values() for name in measures)}
    unknown = set(names) - known
    if unknown:
        print(f"no measure is called {', '.join(unknown)}; there are: {', '.join(sorted(known))}")
        return 2
    print("\n".join(HEAD))
    for topic, measures in TOPICS.items():
        chosen = [name for name in measures if not names or {topic, name} & set(names)]
        if chosen:
            rows = [row for name in chosen for row in rows_of(topic, name)]
            suffix = [topic, *(names if len(names) == 1 and names != [topic] else [])]
            keep("-".join(suffix), rows)
    return 0


def rows_of(topic: str, name: str) -> list[str]:
    """The lines of one measure, printed as they come."""
    rows = []
    for m in TOPICS[topic][name]():
        met = "yes" if m.met else "NO"
        rows.append(
            f"| {m.what} | {m.result:.3g} {m.unit} | {m.bound} | {met} "
            f"| `python -m benchmarks {name}` |"
        )
        print(rows[-1], flush=True)
    return rows


def keep(title: str, rows: list[str]) -> None:
    versions = ", ".join(f"{name} {version}" for name, version in current_versions().items())
    today = date.today().isoformat()
    file = RESULTS / f"{today}-{title}.md"
    file.write_text(f"# {title}, {today}\n\n{versions}\n\n" + "\n".join([*HEAD, *rows]) + "\n")
    print(f"\nkept in {file.relative_to(Path.cwd())}", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
