"""Parts of interactive plots: numbers, colours, lines and layouts, in Plotly's terms.

Names that come from files are escaped, because Plotly interprets some HTML.
"""

import html
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nses.experiment.analysis.stories import Floats, Story
from nses.experiment.showing.drawing import FAINT, GOAL, INK, STAR_COLOR, WALL

DIGITS = 5  # of a number in a plot
LINE_POINTS = 800  # of the line of one run, at most
FEW = 8  # generations whose ticks Plotly would put between whole numbers
SHARE = ".3~%"  # 0.5% and 1% are different ticks
NOTHING = "rgba(0,0,0,0)"
FONT = {"family": "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif", "size": 13}
GRID = {"gridcolor": "#e3e3e6", "zeroline": False, "linecolor": FAINT, "automargin": True}
PLAIN = {"minexponent": 5, "separatethousands": True}  # Plotly would write 50µ for 0.00005
CONFIG: dict[str, Any] = {
    # The buttons are listed by name, because one of the others sends the data to Plotly's server.
    "modeBarButtons": [["toImage", "zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "resetScale2d"]],
    "showSendToCloud": False,
    "plotlyServerURL": "",
    "displaylogo": False,
    "responsive": True,
}


def rounded(values: ArrayLike, digits: int = DIGITS) -> list[float | None]:
    """Rounded numbers for JSON, which has no NaN."""
    return [
        float(f"{v:.{digits}g}") if math.isfinite(v) else None
        for v in np.asarray(values, np.float64).tolist()
    ]


def css(color: Sequence[float] | NDArray[np.float64] | str, opacity: float = 1.0) -> str:
    if isinstance(color, str):
        return color
    r, g, b = (round(255 * float(c)) for c in color)
    return f"rgb({r},{g},{b})" if opacity == 1 else f"rgba({r},{g},{b},{opacity:g})"


def whole(story: Story, column: str) -> NDArray[np.int64]:
    return np.array([int(record[column]) for record in story.records], np.int64)


def evenly(length: int, most: int) -> NDArray[np.int64]:
    """Which of `length` points to draw: at most `most`, evenly from the first to the last."""
    return np.unique(np.linspace(0, length - 1, min(length, most)).round().astype(np.int64))


def changes(x: NDArray[Any], y: Floats) -> tuple[NDArray[Any], Floats]:
    """The points where a staircase steps, and its ends."""
    kept = np.ones(len(y), bool)
    kept[1:-1] = y[1:-1] != y[:-2]
    at = np.flatnonzero(kept)
    at = at[evenly(len(at), LINE_POINTS)]
    return x[at], y[at]


def along(x: Floats, axis: str) -> list[Any]:
    return x.astype(np.int64).tolist() if axis == "generation" else rounded(x, DIGITS + 1)


def line(x: list[Any], y: ArrayLike, name: str, color: str, **style: Any) -> dict[str, Any]:
    line = {name: style.pop(name) for name in ("width", "dash", "shape") if name in style}
    return {
        "type": "scatter",
        "x": x,
        "y": rounded(y),
        "name": name,
        "mode": "lines+markers" if len(x) == 1 else "lines",  # a line of one point is invisible
        "line": {"color": color} | line,
    } | style


def star(start: tuple[float, float]) -> dict[str, Any]:
    marker = {"symbol": "star", "size": 15, "color": STAR_COLOR, "line": {"width": 1, "color": INK}}
    return {
        "type": "scatter", "x": [start[0]], "y": [start[1]], "mode": "markers", "name": "start",
        "marker": marker, "hovertemplate": "start<extra></extra>", "meta": "scene",
    }  # fmt: skip


def wall(x0: float, x1: float, y0: float, y1: float) -> dict[str, Any]:
    box = {"x0": x0, "x1": x1, "y0": y0, "y1": y1}
    return box | {"type": "rect", "fillcolor": WALL, "line": {"width": 0}, "layer": "above"}


def goal(x0: float, x1: float, y0: float, y1: float) -> dict[str, Any]:
    line = {"width": 1.5, "color": GOAL, "dash": "dot"}
    return wall(x0, x1, y0, y1) | {"fillcolor": f"{GOAL}33", "line": line, "layer": "below"}


def integers(*generations: NDArray[Any]) -> dict[str, Any]:
    """Ticks at whole numbers, also of runs of few generations."""
    ends = [x for each in generations if len(each) for x in (each[0], each[-1])]
    few = not ends or max(ends) - min(ends) < FEW
    return {"tickformat": ",d"} | ({"dtick": 1} if few else {})


def level(y: float) -> dict[str, Any]:
    line = {"color": FAINT, "width": 1, "dash": "dot"}
    return {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": y, "y1": y, "line": line}


def level_name(y: float) -> dict[str, Any]:
    return {
        "xref": "paper", "x": 1, "y": y, "text": "solved above", "showarrow": False,
        "xanchor": "right", "yanchor": "bottom", "font": {"size": 11, "color": FAINT},
    }  # fmt: skip


def revision(*names: object) -> dict[str, str]:
    """Keeps a reader's zoom when a plot is redrawn under the same names."""
    return {"uirevision": " ".join(map(str, names))}


def layout_of(x: str, y: str, **more: Any) -> dict[str, Any]:
    """The layout of a plot with these axis labels; `more` overrides the defaults."""
    return {
        "font": FONT | {"color": INK},
        "paper_bgcolor": NOTHING,
        "plot_bgcolor": NOTHING,
        "margin": {"l": 12, "r": 36, "t": 12, "b": 12, "pad": 2},  # the buttons are on the right
        "xaxis": GRID
        | {
            "title": {"text": html.escape(x), "standoff": 8},
            "unifiedhovertitle": {"text": f"{html.escape(x)} %{{x}}"},
        },
        "yaxis": GRID | PLAIN | {"title": {"text": html.escape(y), "standoff": 8}},
        "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
        "hoverlabel": {"bgcolor": "#ffffff", "bordercolor": FAINT, "font": {"color": INK}},
        "modebar": {"orientation": "v", "bgcolor": NOTHING, "color": "#77777f", "activecolor": INK},
        "hovermode": "closest",
        "dragmode": False,  # so that a finger scrolls the page; its script lets a mouse zoom
    } | more
