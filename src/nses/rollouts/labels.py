"""What the numbers of a behavior are called: for the axes of plots."""

from nses.rollouts.behaviors import RAM, SUMMARIES, TRAJECTORY_POINTS


def label_of(behavior: str, size: int, i: int) -> str:
    """Number i of the `size` numbers of a behavior of this name; "behavior 3" without a name."""
    kind, _, what = behavior.partition(":")
    if behavior in RAM:
        return f"{RAM[behavior]} RAM {i}"
    summary, _, source = kind.partition("-")
    if summary not in SUMMARIES or source not in ("", "observation", "attribute"):
        return _numbered(behavior.rpartition(":")[2].rpartition(".")[2] or "behavior", size, i)
    names = [name.strip() for name in what.split(",") if name.strip()]
    if source == "observation":
        names = [f"observation {name}" if name.isdecimal() else name for name in names]
    if summary != "trajectory":
        return f"{summary} {_entry(names, source, size, i)}"
    width = max(1, size // TRAJECTORY_POINTS)
    return f"{_entry(names, source, width, i % width)} at {(i // width + 1)}/{TRAJECTORY_POINTS}"


def _entry(names: list[str], source: str, size: int, i: int) -> str:
    """An entry of an observation or of info, where one key may hold several numbers."""
    if len(names) == size:
        return names[i]
    return _numbered(",".join(names) or source, size, i)


def _numbered(name: str, size: int, i: int) -> str:
    return f"{name} {i}" if size > 1 else name
