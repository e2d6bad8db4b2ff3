"""A page that shows runs while they train. Only this module imports Dash."""

import re
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from nses.errors import UsageError
from nses.experiment.analysis.live import Live, Watcher
from nses.experiment.analysis.stories import AXES, Story
from nses.experiment.showing import plots
from nses.experiment.showing.cells import Cell
from nses.experiment.showing.plot_parts import CONFIG
from nses.experiment.showing.tables import LIVE, replay_command
from nses.experiment.showing.watched import PLOTS, figures_of, guarded, nothing
from nses.extras import needing
from nses.words import short

with needing("dashboard", "'nses watch'"):
    from dash import Dash, Input, Output, State, ctx, dcc, html, no_update
    from flask import Response, abort, request
    from werkzeug.serving import WSGIRequestHandler, make_server

HOSTS = ("127.0.0.1", "localhost", "[::1]")
POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)
INDEX = """<!doctype html>
<html lang="en">
<head>{%metas%}<title>{%title%}</title>{%favicon%}{%css%}</head>
<body>{%app_entry%}{%config%}{%scripts%}{%renderer%}</body>
</html>"""
FIGURES = [Output(name, "figure") for name in PLOTS if name != "map"]


def serve(
    directories: Sequence[str | Path], port: int, interval: float, say: Callable[[str], None]
) -> None:
    """Show the runs in these directories on 127.0.0.1 until Ctrl-C; port 0 picks a free port."""
    if not 0 <= port < 65536:
        raise UsageError(f"port must be 0 to 65535, got {port}.")
    if not 0.1 <= interval <= 3600:
        raise UsageError(f"interval must be 0.1 to 3600 seconds, got {interval:g}.")
    app = dashboard(Watcher(directories), interval)
    import scipy.stats  # noqa: F401  (takes a second, for which the first page would wait)

    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", port))
        except OSError as error:
            raise UsageError(
                f"port {port} cannot be used ({error.strerror}); choose another with --port."
            ) from error
        listener.listen(128)
        port = listener.getsockname()[1]
        server = make_server(
            "127.0.0.1", port, app.server, threaded=True,
            request_handler=_Quiet, fd=listener.fileno(),
        )  # fmt: skip
        with suppress(KeyboardInterrupt):  # the way to end it
            say(f"http://127.0.0.1:{port}")
            server.serve_forever()


class _Quiet(WSGIRequestHandler):
    """Logs no requests: there is one every two seconds."""

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        pass


def dashboard(watcher: Watcher, interval: float) -> Dash:
    """The application; it only reads files, and only answers requests to a local host name."""
    app = Dash(
        "nses",
        assets_folder=str(Path(__file__).parent / "pages"),
        assets_ignore=r"report\.js",  # Dash draws the plots itself
        use_pages=False,
        title="nses watch",
        update_title="",
        serve_locally=True,
        index_string=INDEX,
        meta_tags=[
            {"name": "viewport", "content": "width=device-width, initial-scale=1"},
            {"name": "color-scheme", "content": "light dark"},
        ],
    )
    app.layout = lambda: _page(watcher, interval)
    app.server.before_request(_refuse_strangers)
    app.server.after_request(_restrict)
    _answer(app, watcher)
    return app


def _refuse_strangers() -> None:
    """A foreign page can resolve its host to 127.0.0.1 (DNS rebinding) but still sends its name."""
    if re.sub(r":\d*$", "", request.headers.get("Host", "")) not in HOSTS:
        abort(403)


def _restrict(response: Response) -> Response:
    response.headers["Content-Security-Policy"] = POLICY
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["Referrer-Policy"] = "no-referrer"
    return response


def _page(watcher: Watcher, interval: float) -> Any:
    where = ", ".join(map(str, watcher.directories))
    run = html.Label(["run ", dcc.Dropdown(id="run", clearable=False)], className="chosen")
    axis = dcc.RadioItems(AXES, "generation", id="axis", inline=True, className="axes")
    return html.Main(
        [
            html.Header([html.H1("Runs"), html.P(where, className="quiet")]),
            html.Div(id="faults"),
            html.Div(id="runs"),
            html.Div([run, html.Div(["by ", axis], className="along")], className="controls"),
            html.Div(
                [_place(name, *words) for name, words in PLOTS.items()], className="plots seven"
            ),
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
    more = []
    if name == "map":
        slide = dcc.Slider(1, 2, 1, value=2, id="until", marks=None, updatemode="drag",
                           included=True, allow_direct_input=False)  # fmt: skip
        label = html.Label(["up to generation ", html.Output(id="until-shown")])
        more = [
            html.Div([label, slide], className="slide"),
            html.Div(id="picked", className="picked"),
        ]
    return html.Figure(
        [html.Header(html.H3(title)), graph, *more, html.Figcaption(caption, className="caption")],
        className="plot map" if name == "map" else "plot",
    )


def _answer(app: Dash, watcher: Watcher) -> None:
    """Register what happens at every tick of the clock and at every choice."""
    _answer_ticks(app, watcher)
    _answer_on_the_map(app, watcher)


def _answer_ticks(app: Dash, watcher: Watcher) -> None:
    remembered: dict[tuple[str, ...], Any] = {}

    @app.callback(
        Output("runs", "children"), Output("faults", "children"), Output("run", "options"),
        Output("run", "value"), Output("seen", "data"), *FIGURES,
        Output("until", "max"), Output("until", "value"),
        Input("clock", "n_intervals"), Input("run", "value"), Input("axis", "value"),
        State("seen", "data"), State("until", "max"), State("until", "value"),
    )  # fmt: skip
    def look(
        ticks: int | None, name: str | None, axis: str, seen: str | None, last: int, until: int
    ) -> Any:
        view = watcher.look()
        live = next((run for run in view.runs if run.name == name), next(iter(view.runs), None))
        # Compare with what the page shows, not with the last answer: a tick may overtake an answer.
        now_seen = " ".join([view.stamp, live.name if live else "", axis])
        if ctx.triggered_id == "clock" and now_seen == seen:
            return [no_update] * (7 + len(FIGURES))
        figures, faults = figures_of(view, live, axis, remembered)
        options = [{"label": _label(run.story), "value": run.name} for run in view.runs]
        now = max(2, live.story.generation) if live else 2
        follow = ctx.triggered_id == "run" or until >= last  # else the reader has moved the slider
        return [
            _table(view.runs), _notes([*view.faults, *faults]), options,
            live.name if live else None, now_seen, *figures, now, now if follow else until,
        ]  # fmt: skip


def _answer_on_the_map(app: Dash, watcher: Watcher) -> None:
    def chosen(name: str | None) -> Live | None:
        return next((run for run in watcher.look().runs if run.name == name), None)

    @app.callback(
        Output("map", "figure"), Output("until-shown", "children"),
        Input("until", "value"), Input("run", "value"), Input("seen", "data"),
    )  # fmt: skip
    def draw_map(until: int, name: str | None, seen: str | None) -> Any:
        live = chosen(name)
        if live is None or not live.story.records:
            return nothing("No generation has finished yet."), until
        if live.story.behaviors is None:
            return nothing("No map: behaviors are not points in two dimensions."), until
        return guarded(lambda: plots.overhead(live.story, until=until))[0], until

    @app.callback(
        Output("picked", "children"), Input("map", "clickData"), Input("run", "value")
    )  # fmt: skip
    def pick(click: dict[str, Any] | None, name: str | None) -> Any:
        point = next((p for p in (click or {}).get("points", ()) if "customdata" in p), None)
        live = chosen(name)
        if ctx.triggered_id != "map" or point is None or live is None:
            return html.P("Click a diamond to see how to replay it.")
        generation, member, score = point["customdata"]
        place = f"({short(point['x'])}, {short(point['y'])})"
        line = f"{replay_command(live.story.run)} --generation {generation}"
        return [
            html.P(
                f"Generation {generation}, member {member}: score {short(score)}, behavior {place}."
            ),
            html.Div(
                [html.Code(line), dcc.Clipboard(content=line, title="Copy")], className="command"
            ),
        ]


def _label(story: Story) -> str:
    c = story.run.config
    return f"{c.task}, {c.algorithm}, seed {c.seed} ({story.run.path})"


def _notes(faults: Sequence[str]) -> Any:
    if not faults:
        return None
    return html.Div(html.Ul([html.Li(fault) for fault in faults]), className="notes", role="note")


def _table(runs: Sequence[Live]) -> Any:
    if not runs:
        return html.P("No runs here yet. New ones appear automatically.", className="quiet")
    rows = []
    for run in runs:
        first, *others = (column.cell(run) for column in LIVE)
        cells = [html.Th(first.text, scope="row"), *map(_cell, others)]
        rows.append(html.Tr(cells, title=run.name))
    head = html.Thead(html.Tr([html.Th(column.title, scope="col") for column in LIVE]))
    return html.Div(html.Table([head, html.Tbody(rows)]), className="wide runs", tabIndex="0")


def _cell(cell: Cell) -> Any:
    badge = html.Span(cell.text, className=f"state {cell.kind}")
    return html.Td(badge if cell.kind else cell.text)
