"""Numbers, durations and lines, formatted for people."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console


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


def say(console: "Console", name: str, text: str, width: int = 15) -> None:
    """Print a line that can be copied: not wrapped, and its brackets are not markup."""
    console.print(f"{name:{width}}{text}", soft_wrap=True, highlight=False, markup=False)
