"""`python -m benchmarks [NAME...]`: measures, prints a table and keeps it in benchmarks/results."""

import sys
from datetime import date
from pathlib import Path

from benchmarks.foundation import MEASURES
from nses.experiment.run import current_versions

RESULTS = Path(__file__).parent / "results"


def main(names: list[str]) -> int:
    unknown = set(names) - set(MEASURES)
    if unknown:
        print(f"no measure is called {', '.join(unknown)}; there are: {', '.join(MEASURES)}")
        return 2
    rows = [
        "| measure | result | bound | met | repeat with |",
        "|---|---|---|---|---|",
    ]
    print("\n".join(rows))
    for name in names or MEASURES:
        for m in MEASURES[name]():
            met = "yes" if m.met else "NO"
            rows.append(
                f"| {m.what} | {m.result:.3g} {m.unit} | {m.bound} | {met} "
                f"| `python -m benchmarks {name}` |"
            )
            print(rows[-1], flush=True)
    versions = ", ".join(f"{name} {version}" for name, version in current_versions().items())
    suffix = "-".join(["foundation", *(names if len(names) == 1 else [])])
    file = RESULTS / f"{date.today().isoformat()}-{suffix}.md"
    file.write_text(
        f"# {suffix}, {date.today().isoformat()}\n\n{versions}\n\n" + "\n".join(rows) + "\n"
    )
    print(f"\nkept in {file.relative_to(Path.cwd())}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
