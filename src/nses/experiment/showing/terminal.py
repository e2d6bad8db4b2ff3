"""The terminal: names and texts from runs are shown literally, whatever they contain."""

from collections.abc import Iterable
from typing import Any

from rich import box
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table as Grid
from rich.text import Text

from nses.execution.output import visible
from nses.experiment.showing.cells import R, Table


class Terminal(Console):
    """A console that interprets no markup and no escape sequences in what it shows."""

    def __init__(self, **settings: Any):
        super().__init__(markup=False, emoji=False, **settings)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(visible(segment.text), segment.style)


def grid_of(table: Table[R], title: str = "") -> Grid:
    """A table without its wide columns; asides get columns of their own."""
    columns = [column for column in table.columns if column.narrow]
    heads = [head for c in columns for head in ([c.title, c.aside] if c.aside else [c.title])]
    grid = grid_with(*heads)
    if title:
        grid.title, grid.title_justify = Text(title), "left"
    asides = (i for i, c in enumerate(columns) if c.aside)
    for before, i in enumerate(asides):
        grid.columns[i + before + 1].justify = "left"
    for record in table.records:
        cells = [(column.cell(record), bool(column.aside)) for column in columns]
        texts = [
            t for cell, two in cells for t in ([cell.text, cell.aside] if two else [cell.text])
        ]
        grid.add_row(*map(Text, texts))
    return grid


def grid_with(*heads: str) -> Grid:
    """Names are aligned left, numbers right."""
    grid = Grid(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    grid.add_column(heads[0], style="bold", overflow="fold")
    for head in heads[1:]:
        grid.add_column(head, justify="right", no_wrap=True)
    return grid
