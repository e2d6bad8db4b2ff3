"""Interactive plots of runs, as the plain dictionaries that Plotly draws in a page."""

import html
from dataclasses import replace
from typing import Any

import numpy as np

from nses.experiment.analysis.stories import AXES, Curve, Story, coverage
from nses.experiment.showing.charts import BAND, MEDIAN_WIDTH, RUN, Chart, Line, Median
from nses.experiment.showing.drawing import HUES, shades
from nses.experiment.showing.plot_parts import (
    LINE_POINTS,
    SHARE,
    along,
    changes,
    css,
    evenly,
    integers,
    layout_of,
    level,
    level_name,
    line,
    revision,
    rounded,
    whole,
)

Figure = dict[str, Any]


def figure_of(chart: Chart, *names: object) -> Figure:
    """A chart as Plotly draws it; a redrawn chart with the same `names` keeps its zoom."""
    data = [_band(median, chart.axis) for median in chart.medians]
    data += [line for median in chart.medians for line in _medians(median, chart.axis)]
    named: set[str] = set()
    for run in chart.lines:
        data.append(_run(run, chart, showlegend=run.label not in named))
        named.add(run.label)
    alone = all(line.seed is None for line in chart.lines) and not chart.medians
    layout = layout_of(AXES[chart.axis], chart.y, hovermode="x unified" if alone else "closest")
    if chart.is_share:
        layout["yaxis"] |= {"tickformat": SHARE}
    if chart.axis == "generation":
        layout["xaxis"] |= integers(*(x.x for x in (*chart.lines, *chart.curves)))
    if chart.low is not None:
        ends = {"range": [chart.low, chart.high]}
        layout["yaxis"] |= {"rangemode": "tozero"} if chart.high is None else ends
    if chart.goal is not None:
        layout["shapes"] = [level(chart.goal)]
        layout["annotations"] = [level_name(chart.goal)]
    return {"data": data, "layout": layout | revision(*names, chart.axis)}


def archive(story: Story) -> Figure:
    """The archive of one run: its size, and its coverage of the behavior space (or novelty)."""
    x, shares = whole(story, "generation"), coverage([story])
    ticks = integers(x)
    at, y = changes(x, story.column("archive_size"))
    size = line(at.tolist(), y, "behaviors in the archive", css(HUES[2]))
    shown, novelty = evenly(len(x), LINE_POINTS), story.column("novelty_mean")
    if not shares and not np.isfinite(novelty).any():  # ES does not measure it
        layout = layout_of("generation", "behaviors", showlegend=False)
        layout["xaxis"] |= ticks
        return {"data": [size], "layout": layout | revision(story.run.path)}
    if shares:
        at, y = changes(x, shares[0])
        second = line(at.tolist(), y, "coverage", css(HUES[3]), shape="hv")
    else:
        second = line(x[shown].tolist(), novelty[shown], "mean novelty", css(HUES[3]))
    data = [size, second | {"yaxis": "y2"}]
    layout = layout_of("generation", "behaviors", hovermode="x unified", showlegend=False)
    layout["yaxis"] |= {"domain": [0.56, 1], "rangemode": "tozero"}
    layout["yaxis2"] = layout["yaxis"] | {
        "domain": [0, 0.44],
        "title": {"text": "coverage" if shares else "mean novelty"},
        **({"tickformat": SHARE} if shares else {}),
    }
    layout["xaxis"] |= ticks | {"anchor": "y2"}
    return {"data": data, "layout": layout | revision(story.run.path)}


def selection(story: Story) -> Figure | None:
    """P(m) of Eq. 1, the probability of updating each member; None if there is only one."""
    rows = [record.get("selection") or [] for record in story.records]
    members = max(map(len, rows), default=0)
    if members < 2:
        return None
    shown = evenly(len(rows), LINE_POINTS // 2)
    x = whole(story, "generation")[shown].tolist()
    tints = shades(np.arange(members), np.full(members, 0.35))
    data = [
        {
            "type": "scatter",
            "x": x,
            "y": rounded([rows[i][m] if m < len(rows[i]) else np.nan for i in shown], 3),
            "name": f"member {m}",
            "stackgroup": "members",
            "mode": "lines",
            "line": {"width": 0.5, "color": css(HUES[m % len(HUES)])},
            "fillcolor": css(tints[m]),
            "hovertemplate": "%{y:.0%}",
        }
        for m in range(members)
    ]
    layout = layout_of("generation", "probability of selection", hovermode="x unified")
    layout["yaxis"] |= {"range": [0, 1], "tickformat": SHARE}
    layout["xaxis"] |= integers(whole(story, "generation"))
    return {"data": data, "layout": layout | revision(story.run.path)}


def _run(run: Line, chart: Chart, **more: Any) -> dict[str, Any]:
    """A run of a group is thin and has the group's colour; the legend shows each group once."""
    label, value = html.escape(run.label), f"%{{y:{chart.number}}}"
    if run.seed is None:
        shown = evenly(len(run.x), LINE_POINTS)
        points = along(run.x[shown], chart.axis), run.y[shown]
        style = _shape(run) | {"hovertemplate": value, "showlegend": not run.aside}
        return line(*points, label, css(run.color), **style)
    shown = evenly(len(run.x), LINE_POINTS // 2)
    at, y = changes(run.x, run.y) if run.steps else (run.x[shown], run.y[shown])
    return line(
        along(at, chart.axis), y, label, css(run.color, RUN), **_shape(run), legendgroup=label,
        hovertemplate=f"{label}, seed {run.seed}<br>{AXES[chart.axis]} %{{x}}<br>"
        f"{chart.y} {value}<extra></extra>", **more,
    )  # fmt: skip


def _shape(run: Line) -> dict[str, Any]:
    return {"width": run.width, "shape": "hv" if run.steps else "linear"}


def _medians(median: Median, axis: str) -> list[dict[str, Any]]:
    """A solid line where all runs count, a dashed one where only some do."""
    median = replace(median, curve=_kinks(median.curve))
    curve, label = median.curve, html.escape(median.label)
    numbers = [*zip(rounded(curve.low), rounded(curve.high), curve.runs.tolist(), strict=True)]
    lines: list[dict[str, Any]] = []
    for where, dashed in median.stretches():
        lines.append(
            line(
                along(curve.x, axis), np.where(where, curve.median, np.nan), label,
                css(median.color), width=MEDIAN_WIDTH, dash="dash" if dashed else "solid",
                legendgroup=label, showlegend=not lines, customdata=numbers,
                hovertemplate=f"<b>{label}</b><br>{AXES[axis]} %{{x}}<br>median %{{y:.5g}}"
                " [%{customdata[0]:.5g}, %{customdata[1]:.5g}]"
                f"<br>%{{customdata[2]}} of {median.runs} runs<extra></extra>",
            )
        )  # fmt: skip
    return lines


def _band(median: Median, axis: str) -> dict[str, Any]:
    """The interval as polygons, one for each stretch where it is known."""
    curve = _kinks(median.curve)
    known = np.flatnonzero(np.isfinite(curve.low) & np.isfinite(curve.high))
    x: list[Any] = []
    y: list[float | None] = []
    for part in np.split(known, np.flatnonzero(np.diff(known) > 1) + 1):
        there = along(curve.x[part], axis)
        x += [*there, *there[::-1], None]
        y += [*rounded(curve.high[part]), *rounded(curve.low[part][::-1]), None]
    return {
        "type": "scatter", "x": x, "y": y, "fill": "toself", "mode": "lines", "line": {"width": 0},
        "fillcolor": css(median.color, BAND), "hoverinfo": "skip", "showlegend": False,
        "legendgroup": html.escape(median.label),
    }  # fmt: skip


def _kinks(curve: Curve) -> Curve:
    """The same lines with fewer points: of a constant stretch, only the ends."""
    y = np.stack([curve.median, curve.low, curve.high, curve.runs])
    y = np.array([rounded(row) for row in y], np.float64)
    same = ((y[:, 1:] == y[:, :-1]) | (np.isnan(y[:, 1:]) & np.isnan(y[:, :-1]))).all(axis=0)
    kept = ~(np.append(False, same) & np.append(same, False))
    x, median, low, high = (c[kept] for c in (curve.x, curve.median, curve.low, curve.high))
    return Curve(x, median, low, high, curve.runs[kept])
