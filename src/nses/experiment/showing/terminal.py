"""The terminal: names and texts of runs are shown letter by letter, whatever stands in them."""

from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from nses.execution.output import visible


class Terminal(Console):
    """A console that obeys nothing in what it shows: no markup, no escape sequences."""

    def __init__(self, **settings: Any):
        super().__init__(markup=False, emoji=False, **settings)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(visible(segment.text), segment.style)
