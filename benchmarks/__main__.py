"""`python -m benchmarks [NAME...]`: measures, prints a table and saves it in benchmarks/results.

A NAME is a measure, the first words of several (`ray-same-bits`), or a topic, which is all its
measures. Every topic has a file of its own.
`fuzz` and `soak` measure nothing: they try to break it. `mutants` tries the tests
instead, `against COMMIT` compares the speed of two versions, `golden COMMIT` their bits. `search
TASK` tunes a recipe;
`race` asks who learns to walk first, we or other libraries.
"""

import importlib
import sys

from benchmarks import ahead, atari, bodies, experiments, foundation, pools
from benchmarks.nodes import measures as nodes
from benchmarks.scaling import measures as scaling
from benchmarks.table import HEAD, keep, line_of

TOPICS = {
    "foundation": foundation.MEASURES,
    "mujoco": bodies.MEASURES,
    "atari": atari.MEASURES,
    "experiments": experiments.MEASURES,
    "cluster": scaling.MEASURES,
    "ray": nodes.MEASURES,
    "pool": pools.MEASURES,
    "ahead": ahead.MEASURES,
}
# Programs with arguments of their own:
TRIALS = (
    *("fuzz", "soak", "mutants", "against", "golden", "defaults", "search", "race"),
    "instructions",
)


def main(names: list[str]) -> int:
    if names and names[0] in TRIALS:
        return importlib.import_module(f"benchmarks.{names[0]}").main(names[1:])
    known = {*TOPICS, *(name for measures in TOPICS.values() for name in measures)}
    unknown = [name for name in names if not any(begins(one, name) for one in known)]
    if unknown:
        print(f"no measure is called {', '.join(unknown)}; there are: {', '.join(sorted(known))}")
        return 2
    print("\n".join(HEAD))
    for topic, measures in TOPICS.items():
        whole = not names or topic in names
        chosen = [one for one in measures if whole or any(begins(one, name) for name in names)]
        if chosen:
            rows = [row for name in chosen for row in rows_of(topic, name)]
            suffix = [topic, *(names if len(names) == 1 and names != [topic] else [])]
            keep("-".join(suffix), rows)
    return 0


def begins(measure: str, name: str) -> bool:
    """Whether these are its first words, or all of them."""
    return f"{measure}-".startswith(f"{name}-")


def rows_of(topic: str, name: str) -> list[str]:
    """The lines of one measure, printed as they come."""
    rows = []
    for measure in TOPICS[topic][name]():
        rows.append(line_of(measure, name))
        print(rows[-1], flush=True)
    return rows


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
