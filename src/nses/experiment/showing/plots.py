"""Interactive pictures of runs, as the plain dictionaries that Plotly draws in a page."""

import html
from collections.abc import Sequence
from typing import Any

import numpy as np

from nses.experiment.analysis.comparison import Group
from nses.experiment.analysis.scenes import limits, scene_of
from nses.experiment.analysis.stories import AXES, Curve, Floats, Story, coverage
from nses.experiment.showing.drawing import HUES, INK, Color, colors_of, shades
from nses.experiment.showing.plot_parts import (
    LINE_POINTS,
    along,
    changes,
    css,
    evenly,
    layout_of,
    level,
    level_name,
    line,
    revision,
    rounded,
    star,
    wall,
    whole,
)

Figure = dict[str, Any]

MAP_POINTS = 2000  # diamonds of a map, at most
PAPER = "#fbfbf8"  # under a map, by night too: later diamonds are darker
LINES = {  # of one run: column → name, colour, width
    "return_mean": ("mean of the candidates", HUES[1], 1.5),
    "score": ("updated member", HUES[0], 1.2),
    "best": ("best so far", INK, 2.5),
}


def run_curves(story: Story, axis: str = "generation") -> Figure:
    """How the returns of one run grew along one of AXES."""
    x, shown = story.column(axis), evenly(len(story.records), LINE_POINTS)
    data = [
        line(
            along(x[shown], axis),
            story.column(column)[shown],
            name,
            color if isinstance(color, str) else css(color),
            width=width,
            shape="hv" if column == "best" else "linear",
            hovertemplate="%{y:.5g}",
        )
        for column, (name, color, width) in LINES.items()
    ]
    layout = layout_of(AXES[axis], "return", hovermode="x unified")
    return {"data": data, "layout": layout | revision(story.run.path, axis)}


def group_curves(
    groups: Sequence[Group], axis: str = "generation", goal: float | None = None
) -> Figure:
    """The best score so far of each group: median and its 95 % interval, along one of AXES.

    Dashed where not all runs of the group have got yet.
    """
    bands, lines = [], []
    for group, color in zip(groups, _colors(groups), strict=True):
        curve = group.curve(axis)
        if curve is not None:
            curve = _kinks(curve)
            bands.append(_band(curve, axis, group, color))
            lines += _medians(curve, axis, group, color)
    layout = layout_of(AXES[axis], "best return so far")
    if goal is not None:
        layout["shapes"] = [level(goal)]
        layout["annotations"] = [level_name(goal)]
    return {"data": bands + lines, "layout": layout | revision(axis)}


def overhead(story: Story, most: int = MAP_POINTS, until: int | None = None) -> Figure:
    """Where the updated member of each generation ended, seen from above; 2-D behaviors only.

    One colour per member, darker for later generations; `customdata` of a diamond is its
    generation, member and score. Later generations than `until` keep their place, but not more.
    """
    b = story.behaviors
    assert b is not None
    scene = scene_of(story.run.config)
    generation, member = (whole(story, name) for name in ("generation", "member"))
    score, known = story.column("score"), np.flatnonzero(np.isfinite(b).all(axis=1))
    shown = known[evenly(len(known), most)]
    shown = shown if until is None else shown[generation[shown] <= until]
    data = []
    for m in np.unique(member[shown]).tolist():
        at = shown[member[shown] == m]
        light, hue, dark = (css(c) for c in shades(np.full(3, m), np.array([0.0, 0.5, 1.0])))
        marker = {
            "symbol": "diamond",
            "size": 8,
            "color": generation[at].tolist(),
            "colorscale": [[0, light], [0.5, hue], [1, dark]],
            "cmin": 1,
            "cmax": max(2, story.run.config.generations),
            "line": {"width": 0.5, "color": PAPER},
        }
        group = {"name": f"member {m}", "legendgroup": f"member {m}", "mode": "markers"}
        legend = {"symbol": "diamond", "size": 8, "color": hue}
        numbers = zip(generation[at].tolist(), rounded(score[at]), strict=True)
        data += [
            group | {
                "type": "scatter",
                "x": rounded(b[at, 0]),
                "y": rounded(b[at, 1]),
                "customdata": [[g, m, s] for g, s in numbers],
                "marker": marker,
                "showlegend": False,
                "hovertemplate": "generation %{customdata[0]}, member %{customdata[1]}<br>"
                "score %{customdata[2]:.5g}<br>(%{x:.4g}, %{y:.4g})<extra></extra>",
            },
            group | {"type": "scatter", "x": [None], "y": [None], "marker": legend},
        ]  # fmt: skip
    if scene.start:
        data.append(star(scene.start))
    layout = layout_of(*scene.labels)
    low, high = (corner.tolist() for corner in limits(b[known], scene))
    layout["xaxis"] |= {"range": [low[0], high[0]]}
    layout["yaxis"] |= {"range": [low[1], high[1]], "scaleanchor": "x"}
    layout["shapes"] = [wall(*box) for box in scene.walls]
    return {"data": data, "layout": layout | {"plot_bgcolor": PAPER} | revision(story.run.path)}


def weights(groups: Sequence[Group]) -> Figure | None:
    """The weight w of reward against novelty, a line per run; None where it never moves."""
    moving = [
        (group, color, [s for s in group.stories if np.unique(_known(s.column("weight"))).size > 1])
        for group, color in zip(groups, _colors(groups), strict=True)
    ]
    lines = [
        (group, color, story, story.column("weight"))
        for group, color, stories in moving
        for story in stories
    ]
    layout = layout_of("generation", "weight w of reward")
    layout["yaxis"] |= {"range": [-0.03, 1.03]}
    return (
        {"data": _run_lines(lines, "w %{y:.2f}", steps=True), "layout": layout} if lines else None
    )


def exploration(groups: Sequence[Group]) -> Figure:
    """A line per run: how much of the behavior space it has seen, or else its novelty."""
    stories = [story for group in groups for story in group.stories]
    paint = [c for g, c in zip(groups, _colors(groups), strict=True) for _ in g.stories]
    owner = [group for group in groups for _ in group.stories]
    shares = coverage(stories)
    layout = layout_of("generation", "coverage" if shares else "mean novelty")
    if shares:
        lines = list(zip(owner, paint, stories, shares, strict=True))
        layout["yaxis"] |= {"tickformat": ".0%", "rangemode": "tozero"}
        return {"data": _run_lines(lines, "%{y:.1%}", steps=True), "layout": layout}
    novelty = [s.column("novelty_mean") for s in stories]
    lines = list(zip(owner, paint, stories, novelty, strict=True))
    return {"data": _run_lines(lines, "%{y:.4g}", steps=False), "layout": layout}


def archive(story: Story) -> Figure:
    """How the archive of one run grew, and what it has seen of the behavior space (or novelty)."""
    x, shares = whole(story, "generation"), coverage([story])
    size = line(*changes(x, story.column("archive_size")), "behaviors in the archive", css(HUES[2]))
    shown = evenly(len(x), LINE_POINTS)
    if shares:
        second = line(*changes(x, shares[0]), "coverage", css(HUES[3]), shape="hv")
    else:
        y = story.column("novelty_mean")[shown]
        second = line(x[shown].tolist(), y, "mean novelty", css(HUES[3]))
    data = [size, second | {"yaxis": "y2"}]
    layout = layout_of("generation", "behaviors", hovermode="x unified", showlegend=False)
    layout["yaxis"] |= {"domain": [0.56, 1], "rangemode": "tozero"}
    layout["yaxis2"] = layout["yaxis"] | {
        "domain": [0, 0.44],
        "title": {"text": "coverage" if shares else "mean novelty"},
        **({"tickformat": ".0%"} if shares else {}),
    }
    layout["xaxis"] |= {"anchor": "y2"}
    return {"data": data, "layout": layout | revision(story.run.path)}


def selection(story: Story) -> Figure | None:
    """P(m) of Eq. 1, how probable it was to update each member; None where there is one alone."""
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
    layout["yaxis"] |= {"range": [0, 1], "tickformat": ".0%"}
    return {"data": data, "layout": layout | revision(story.run.path)}


def _colors(groups: Sequence[Group]) -> list[Color]:
    return colors_of([group.algorithm for group in groups])


def _known(x: Floats) -> Floats:
    return x[np.isfinite(x)]


def _run_lines(
    lines: Sequence[tuple[Group, Sequence[float], Story, Floats]], value: str, *, steps: bool
) -> list[dict[str, Any]]:
    """A thin line per run in the colour of its group, one entry in the legend per group."""
    data, named = [], set()
    for group, color, story, y in lines:
        x, label = whole(story, "generation"), html.escape(group.label)
        shown = evenly(len(x), LINE_POINTS // 2)
        points = changes(x, y) if steps else (x[shown].tolist(), y[shown])
        seed = story.run.config.seed
        data.append(
            line(
                *points, label, css(color, 0.75), width=1.3, shape="hv" if steps else "linear",
                legendgroup=label, showlegend=label not in named,
                hovertemplate=f"{label}, seed {seed}<br>"
                f"generation %{{x}}<br>{value}<extra></extra>",
            )
        )  # fmt: skip
        named.add(label)
    return data


def _medians(curve: Curve, axis: str, group: Group, color: Sequence[float]) -> list[dict[str, Any]]:
    """A solid line where all runs are, a dashed one where only some are."""
    numbers = [*zip(rounded(curve.low), rounded(curve.high), curve.runs.tolist(), strict=True)]
    x, label = along(curve.x, axis), html.escape(group.label)
    partial = curve.runs < len(group.stories)
    beside = np.append(partial[1:], False) | np.append(False, partial[:-1])  # so that they meet
    lines = []
    for where, dash in ((~partial, "solid"), (partial | beside, "dash")):
        if not (where & (partial if dash == "dash" else ~partial)).any():
            continue
        lines.append(
            line(
                x, np.where(where, curve.median, np.nan), label, css(color), width=2.5, dash=dash,
                legendgroup=label, showlegend=not lines, customdata=numbers,
                hovertemplate=f"<b>{label}</b><br>{AXES[axis]} %{{x}}<br>median %{{y:.5g}}"
                " [%{customdata[0]:.5g}, %{customdata[1]:.5g}]"
                f"<br>%{{customdata[2]}} of {len(group.stories)} runs<extra></extra>",
            )
        )  # fmt: skip
    return lines


def _band(curve: Curve, axis: str, group: Group, color: Sequence[float]) -> dict[str, Any]:
    """The interval as polygons, one for each stretch in which there is one."""
    known = np.flatnonzero(np.isfinite(curve.low) & np.isfinite(curve.high))
    x: list[Any] = []
    y: list[float | None] = []
    for part in np.split(known, np.flatnonzero(np.diff(known) > 1) + 1):
        there = along(curve.x[part], axis)
        x += [*there, *there[::-1], None]
        y += [*rounded(curve.high[part]), *rounded(curve.low[part][::-1]), None]
    return {
        "type": "scatter", "x": x, "y": y, "fill": "toself", "mode": "lines", "line": {"width": 0},
        "fillcolor": css(color, 0.18), "hoverinfo": "skip", "showlegend": False,
        "legendgroup": html.escape(group.label),
    }  # fmt: skip


def _kinks(curve: Curve) -> Curve:
    """The same lines in fewer points: where nothing changes, only the ends of the stretch."""
    y = np.stack([curve.median, curve.low, curve.high, curve.runs])
    y = np.array([rounded(row) for row in y], np.float64)
    same = ((y[:, 1:] == y[:, :-1]) | (np.isnan(y[:, 1:]) & np.isnan(y[:, :-1]))).all(axis=0)
    kept = ~(np.append(False, same) & np.append(same, False))
    x, median, low, high = (c[kept] for c in (curve.x, curve.median, curve.low, curve.high))
    return Curve(x, median, low, high, curve.runs[kept])
