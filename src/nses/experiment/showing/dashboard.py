"""A page that shows runs while they train. Only this module and `panels` import Dash."""

import re
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from nses.errors import UsageError
from nses.experiment.analysis.live import Live, Watcher
from nses.experiment.analysis.planes import Plane
from nses.experiment.showing import maps, panels
from nses.experiment.showing.watched import (
    OPTIONAL,
    PLOTS,
    axes_to_choose,
    behavior_in,
    figures_of,
    guarded,
    nothing,
    without_content,
)
from nses.extras import needing

with needing("dashboard", "'nses watch'"):
    from dash import ALL, Dash, Input, Output, State, ctx, html, no_update
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
HIDDEN = [Output(panels.place_of(name), "hidden") for name in OPTIONAL]


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
    app.layout = lambda: panels.page_of(watcher, interval)
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


def _answer(app: Dash, watcher: Watcher) -> None:
    """Register what happens at every tick of the clock and at every choice."""
    _answer_ticks(app, watcher)
    _answer_clicks_on_rows(app)
    _answer_on_the_map(app, watcher)


def _answer_ticks(app: Dash, watcher: Watcher) -> None:
    remembered: dict[tuple[str, ...], Any] = {}

    @app.callback(
        Output("runs", "children"), Output("faults", "children"), Output("run", "options"),
        Output("run", "value"), Output("seen", "data"), *FIGURES, *HIDDEN,
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
            return [no_update] * (7 + len(FIGURES) + len(HIDDEN))
        figures, faults = figures_of(view, live, axis, remembered)
        options = [{"label": panels.option_of(r.story), "value": r.name} for r in view.runs]
        now = max(2, live.story.generation) if live else 2
        follow = ctx.triggered_id == "run" or until >= last  # else the reader has moved the slider
        return [
            panels.table_of(view.runs, live), panels.notes_of([*view.faults, *faults]), options,
            live.name if live else None, now_seen, *figures, *without_content(figures, live),
            now, now if follow else until,
        ]  # fmt: skip


def _answer_clicks_on_rows(app: Dash) -> None:
    @app.callback(
        Output("run", "value", allow_duplicate=True),
        Input({"type": panels.ROW, "run": ALL}, "n_clicks"),
        prevent_initial_call=True,
    )
    def choose(clicks: list[int | None]) -> Any:
        row: Any = ctx.triggered_id
        return row["run"] if row and any(clicks) else no_update  # else it was drawn again


def _answer_on_the_map(app: Dash, watcher: Watcher) -> None:
    def chosen(name: str | None) -> Live | None:
        return next((run for run in watcher.look().runs if run.name == name), None)

    @app.callback(
        Output("across", "options"), Output("up", "options"), Output("across", "value"),
        Output("up", "value"), Output("axes-choice", "hidden"),
        Input("run", "value"), Input("seen", "data"),
        State("across", "value"), State("up", "value"), State("across", "options"),
    )  # fmt: skip
    def offer_axes(name: str | None, seen: str, x: int, y: int, offered: list[Any] | None) -> Any:
        live = chosen(name)
        across, up, plane = axes_to_choose(live.story if live else None)
        if plane is None or (across == offered and ctx.triggered_id != "run"):
            return [across, up, no_update, no_update, len(up) < 3]
        return [across, up, plane.x, plane.y, len(up) < 3]

    @app.callback(
        Output("map", "figure"), Output("until-shown", "children"),
        Input("until", "value"), Input("run", "value"), Input("seen", "data"),
        Input("across", "value"), Input("up", "value"),
    )  # fmt: skip
    def draw_map(until: int, name: str | None, seen: str | None, x: Any, y: Any) -> Any:
        live = chosen(name)
        if live is None or not live.story.records:
            return nothing("No generation has finished yet."), until
        across, up, plane = axes_to_choose(live.story)
        if plane is None:
            return nothing("No map: behaviors are traces."), until
        if all(any(o["value"] == v for o in side) for v, side in ((x, across), (y, up))):
            plane = Plane(x, y)
        return guarded(lambda: maps.map_of(live.story, plane, until=until))[0], until

    @app.callback(
        Output("picked", "children"), Input("map", "clickData"), Input("run", "value")
    )  # fmt: skip
    def pick(click: dict[str, Any] | None, name: str | None) -> Any:
        point = next((p for p in (click or {}).get("points", ()) if "customdata" in p), None)
        live = chosen(name)
        if ctx.triggered_id != "map" or point is None or live is None:
            return html.P("Click a diamond to see how to replay it.")
        diamond = point["customdata"]
        return panels.picked(live, diamond, behavior_in(live.story, diamond[0]))
