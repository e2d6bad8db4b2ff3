"""Numbers, durations and lines, formatted for people."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console


LONGEST = 12  # values of a list that are shown


def short(value: float | None) -> str:
    """Four significant digits."""
    if value is None:
        return "-"
    return f"{value:.4g}" if abs(value) < 10_000 else f"{value:,.0f}"


def duration(seconds: float) -> str:
    """h:mm:ss, or m:ss below an hour."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def in_words(value: Any) -> str:
    """A value as a person would write it; long lists are cut short."""
    match value:
        case None:
            return "unknown"
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}" if abs(value) >= 10_000 else str(value)
        case float():
            return short(value)
        case dict():
            return ", ".join(f"{name} {in_words(x)}" for name, x in value.items()) or "none"
        case list() | tuple():
            shown = ", ".join(map(in_words, value[:LONGEST]))
            more = len(value) - LONGEST
            return f"{shown} … ({more:,} more)" if more > 0 else shown or "none"
    return str(value)


def say(console: "Console", name: str, text: str, width: int = 15) -> None:
    """Print a line that can be copied: not wrapped, and its brackets are not markup."""
    console.print(f"{name:{width}}{text}", soft_wrap=True, highlight=False, markup=False)
