"""Where policies ended, as the plain dictionaries that Plotly draws in a page."""

import html
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nses.experiment.analysis.planes import (
    GENERATION,
    Frame,
    Plane,
    Trail,
    axes_of,
    frame_of,
    label_on,
    trail_of,
)
from nses.experiment.analysis.scenes import scene_of
from nses.experiment.analysis.stories import Story
from nses.experiment.showing.drawing import shades
from nses.experiment.showing.plot_parts import (
    css,
    evenly,
    goal,
    integers,
    layout_of,
    revision,
    rounded,
    star,
    wall,
)
from nses.experiment.showing.plots import Figure
from nses.rollouts.tasks.scene import Scene

MAP_POINTS = 2000  # diamonds on a map, at most
PAPER = "#fbfbf8"  # the background of a map, in dark mode too: later diamonds are darker
FIRST = 3  # place of the first number of a behavior in `customdata`


def map_of(
    story: Story,
    plane: Plane,
    most: int = MAP_POINTS,
    *,
    until: int | None = None,
    axes: Sequence[int] = (),
) -> Figure:
    """Where the updated member of each generation ended.

    One colour per member, darker for later generations; `customdata` of a diamond is its
    generation, member and score, and the numbers `axes` of its behavior. Generations after `until`
    are not drawn, but have room.
    """
    trail = trail_of(story, plane)
    scene = scene_of(story.run) if plane.has_scene else Scene()
    shown = evenly(len(trail.b), most)
    shown = shown if until is None else shown[trail.generation[shown] <= until]
    where = [label_on(story, axis) for axis in (plane.x, plane.y)]
    data = []
    for m in np.unique(trail.member[shown]).tolist():
        data += _diamonds(trail, shown[trail.member[shown] == m], m, where, axes)
    data += [star(scene.start)] if scene.start else []
    layout = layout_of(*where)
    frame = frame_of(trail.b, plane, scene)
    layout["xaxis"] |= {"range": _side(frame, 0)}
    layout["yaxis"] |= {"range": _side(frame, 1)} | ({"scaleanchor": "x"} if frame.equal else {})
    if plane.x == GENERATION:
        layout["xaxis"] |= integers(trail.generation)
    layout["shapes"] = [*(goal(*box) for box in scene.goals), *(wall(*box) for box in scene.walls)]
    seen = revision(story.run.path, plane.x, plane.y)
    return {"data": data, "layout": layout | {"plot_bgcolor": PAPER} | seen}


def map_to_choose_from(story: Story, plane: Plane, most: int) -> Figure:
    """A map whose axes the script of a page can exchange, if there are more than two.

    `axes` are those to choose from: `at` is the place of one in `customdata`, and `plane` are the
    places of the two that are shown at first.
    """
    names = {"names": [label_on(story, axis) for axis in (plane.x, plane.y)]}
    if story.run.facts.behavior_size <= 2:
        return map_of(story, plane, most) | names
    axes = axes_of([story])
    places = {GENERATION: 0} | {axis: FIRST + i for i, axis in enumerate(axes)}
    options = [_option(story, axis, at) for axis, at in places.items()]
    figure = map_of(story, plane, most, axes=axes)
    return figure | names | {"axes": options, "plane": [places[plane.x], places[plane.y]]}


def _option(story: Story, axis: int, at: int) -> dict[str, Any]:
    plane = Plane(axis, axis)
    trail = trail_of(story, Plane(axis, 0)) if axis == GENERATION else trail_of(story, plane)
    name = label_on(story, axis)
    side = _side(frame_of(trail.b, plane, Scene()), 0)
    return {"at": at, "name": name, "title": html.escape(name), "range": side}


def _side(frame: Frame, i: int) -> list[float]:
    return [float(frame.low[i]), float(frame.high[i])]


def _diamonds(
    trail: Trail, at: NDArray[np.int64], member: int, where: Sequence[str], axes: Sequence[int]
) -> list[dict[str, Any]]:
    """Those of a member, and its entry in the legend."""
    light, hue, dark = (css(c) for c in shades(np.full(3, member), np.array([0.0, 0.5, 1.0])))
    marker = {
        "symbol": "diamond",
        "size": 8,
        "color": rounded(trail.age[at], 3),
        "colorscale": [[0, light], [0.5, hue], [1, dark]],
        "cmin": 0,
        "cmax": 1,
        "line": {"width": 0.5, "color": PAPER},
    }
    numbers = zip(
        trail.generation[at].tolist(),
        rounded(trail.score[at]),
        *(rounded(trail.whole[at, axis]) for axis in axes),
        strict=True,
    )
    group = {"name": f"member {member}", "legendgroup": f"member {member}", "mode": "markers"}
    legend = {"symbol": "diamond", "size": 8, "color": hue}
    return [
        group | {
            "type": "scatter",
            "x": rounded(trail.b[at, 0]),
            "y": rounded(trail.b[at, 1]),
            "customdata": [[g, member, s, *b] for g, s, *b in numbers],
            "marker": marker,
            "showlegend": False,
            "hovertemplate": hover_of(*where),
        },
        group | {"type": "scatter", "x": [None], "y": [None], "marker": legend},
    ]  # fmt: skip


def hover_of(x: str, y: str) -> str:
    """What a diamond says under the mouse; report.js writes the same for axes that it exchanges."""
    first = "" if x == "generation" else f"<br>{html.escape(x)} %{{x:.4g}}"
    return (
        "generation %{customdata[0]}, member %{customdata[1]}<br>score %{customdata[2]:.5g}"
        f"{first}<br>{html.escape(y)} %{{y:.4g}}<extra></extra>"
    )
