"""The parts of the dashboard's page."""

from collections.abc import Sequence
from typing import Any, cast

from nses.experiment.analysis.live import Live, Watcher
from nses.experiment.analysis.stories import AXES, Story
from nses.experiment.showing.cells import Cell
from nses.experiment.showing.plot_parts import CONFIG
from nses.experiment.showing.tables import LIVE, replay_command
from nses.experiment.showing.watched import PLOTS, nothing
from nses.extras import needing
from nses.words import short

with needing("dashboard", "'nses watch'"):
    from dash import dcc, html

ROW = "row"  # the type of the rows of the table of runs, in their ids


def page_of(watcher: Watcher, interval: float) -> Any:
    where = ", ".join(map(str, watcher.directories))
    run = html.Label(["run ", dcc.Dropdown(id="run", clearable=False)], className="chosen")
    axis = dcc.RadioItems(AXES, "generation", id="axis", inline=True, className="axes")
    places = [_place(name, *words) for name, words in PLOTS.items()]
    return html.Main(
        [
            html.Header([html.H1("Runs"), html.P(where, className="quiet")]),
            html.Div(id="faults"),
            html.Div(id="runs"),
            html.Div([run, html.Div(["by ", axis], className="along")], className="controls"),
            html.Div(places, className=f"plots of-{len(places)}"),
            dcc.Interval(id="clock", interval=1000 * interval),
            dcc.Store(id="seen"),
        ]
    )


def _place(name: str, title: str, caption: str) -> Any:
    height = "min(30rem, 110vw)" if name == "map" else "21rem"
    style = {"height": height, "flexGrow": 1}  # as tall as its neighbour
    graph = dcc.Graph(
        id=name,
        figure=cast(Any, nothing("Reading the runs …")),
        config=cast(Any, CONFIG),
        responsive=True,
        style=style,
    )
    head: list[Any] = [html.H3(title)]
    more: list[Any] = []
    if name == "map":
        slide = dcc.Slider(1, 2, 1, value=2, id="until", marks=None, updatemode="drag",
                           included=True, allow_direct_input=False)  # fmt: skip
        label = html.Label(["up to generation ", html.Output(id="until-shown")])
        head.append(html.Div([_side("across"), _side("up")], id="axes-choice", hidden=True))
        more = [
            html.Div([label, slide], className="slide"),
            html.Div(id="picked", className="picked"),
        ]
    return html.Figure(
        [html.Header(head), graph, *more, html.Figcaption(caption, className="caption")],
        className="plot map" if name == "map" else "plot",
        id=place_of(name),
    )


def place_of(name: str) -> str:
    """The id of the card around a plot."""
    return f"place-of-{name}"


def _side(word: str) -> Any:
    """A list of the axes to choose from."""
    return html.Label([f"{word} ", dcc.Dropdown(id=word, clearable=False, searchable=False)])


def option_of(story: Story) -> str:
    c = story.run.config
    return f"{c.task}, {c.algorithm}, seed {c.seed} ({story.run.path})"


def notes_of(faults: Sequence[str]) -> Any:
    if not faults:
        return None
    return html.Div(html.Ul([html.Li(fault) for fault in faults]), className="notes", role="note")


def table_of(runs: Sequence[Live], chosen: Live | None) -> Any:
    """A row per run, which chooses it when it is clicked; by keyboard, its first cell does."""
    if not runs:
        return html.P("No runs here yet. New ones appear automatically.", className="quiet")
    rows = []
    for run in runs:
        first, *others = (column.cell(run) for column in LIVE)
        name = html.Button(first.text, type="button", title=f"show {run.name}")
        style = "chosen" if run is chosen else ""
        cells = [html.Th(name, scope="row"), *map(_cell, others)]
        rows.append(html.Tr(cells, id={"type": ROW, "run": run.name}, className=style))
    head = html.Thead(html.Tr([html.Th(column.title, scope="col") for column in LIVE]))
    return html.Div(html.Table([head, html.Tbody(rows)]), className="wide runs", tabIndex="0")


def _cell(cell: Cell) -> Any:
    badge = html.Span(cell.text, className=f"state {cell.kind}")
    return html.Td(badge if cell.kind else cell.text)


def picked(live: Live, diamond: Sequence[Any], behavior: str) -> Any:
    """A diamond in words, and how to replay it."""
    generation, member, score = diamond[:3]
    line = f"{replay_command(live.story.run)} --generation {generation}"
    copy = dcc.Clipboard(content=line, title="Copy")
    return [
        html.P(f"Generation {generation}, member {member}: score {short(score)}; {behavior}."),
        html.Div([html.Code(line), copy], className="command"),
    ]
