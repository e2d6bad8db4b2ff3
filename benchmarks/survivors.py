"""Mutants of `core` that no test can or need notice, each with the reason."""

FIRST = "if value >= smallest[i]:"
THEN = "while i > 0 and smallest[i - 1] > value:"
EQUAL = "of two equal distances it does not matter which comes first"

TREE = "tree = buffer.tree = KDTree(rows, balanced_tree=False, compact_nodes=False)"
SPEED = "changes only how fast it is"


def replaced(line: str, before: str, after: str) -> str:
    assert line.count(before) == 1
    return f"{line}  →  {line.replace(before, after)}"


# No program could tell them from the original by what they compute.
EQUIVALENT = {
    replaced(FIRST, ">=", ">"): EQUAL,
    replaced(THEN, "] >", "] >="): EQUAL,
}

REASONS = EQUIVALENT | {
    replaced(TREE, "balanced_tree=False", "balanced_tree=True"): SPEED,
    replaced(TREE, "compact_nodes=False", "compact_nodes=True"): SPEED,
}
