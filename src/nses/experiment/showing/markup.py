"""HTML that is safe from injection: everything but Markup is escaped.

A page is one file that loads no others. Its policy forbids all requests, and all scripts but its
own two, which it names by their hashes. So a name read from a file never becomes code.
"""

import base64
import hashlib
import html
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import quote

from nses.experiment.showing.cells import Cell, R, Table
from nses.experiment.showing.plot_parts import CONFIG, css
from nses.experiment.showing.plots import Figure

VOID = ("meta", "input", "br")

Plots = dict[str, Mapping[str, Figure]]  # for each place, the figures to choose from


class Markup(str):
    """HTML that is not escaped again."""

    __slots__ = ()


class Remark(Markup):
    """A sentence that says why a plot is missing."""

    __slots__ = ()


def element(tag: str, *children: object, **attributes: Any) -> Markup:
    """<tag name="value">children</tag>; class_ is class, data_x is data-x, False omits one."""
    said = "".join(
        f" {name.rstrip('_').replace('_', '-')}"
        + ("" if value is True else f'="{html.escape(str(value))}"')
        for name, value in attributes.items()
        if value is not False and value is not None
    )
    return Markup(f"<{tag}{said}>" + ("" if tag in VOID else f"{joined(children)}</{tag}>"))


def joined(children: Iterable[object]) -> Markup:
    return Markup("".join(c if isinstance(c, Markup) else html.escape(str(c)) for c in children))


def table(table: Table[R], base: Path) -> Markup:
    """A wide table scrolls inside the page; `base` is the directory of the page."""
    titles = (f"{column.title} {column.aside}".strip() for column in table.columns)
    head = element("tr", *(element("th", title, scope="col") for title in titles))
    body = []
    for record in table.records:
        first, *others = (_cell(column.cell(record), base) for column in table.columns)
        cells = [element("th", first, scope="row"), *(element("td", cell) for cell in others)]
        body.append(element("tr", *cells, class_="changed" if table.marked(record) else None))
    title = element("caption", table.title)
    grid = element("table", title, element("thead", head), element("tbody", *body))
    wide = element("div", grid, class_="wide", tabindex="0", role="region", aria_label=table.title)
    lines = [element("p", line, class_="caption") for line in table.caption.splitlines()]
    return joined([wide, *lines])


def _cell(cell: Cell, base: Path) -> Markup:
    if cell.is_command:
        return command(cell.text)
    if cell.target is not None:
        return link(cell.target, base, cell.text)
    parts: list[object] = [cell.text]
    if cell.color is not None:
        style = f"background:{css(cell.color)}"
        parts.insert(0, element("span", class_="swatch", style=style, aria_hidden="true"))
    if cell.aside:
        parts += [" ", element("span", cell.aside, class_="interval")]
    return joined(parts)


def plot(
    title: str,
    name: str,
    figures: Mapping[str, Figure],
    plots: Plots,
    caption: str,
    *,
    controls: str = "",
    below: str = "",
    kind: str = "",
) -> Markup:
    """A place for `figures`, which are added to the `plots` of the page, and its controls."""
    plots[name] = figures
    return element(
        "figure",
        element("header", element("h3", title), controls),
        element("div", id=name, class_="canvas"),
        below,
        element("figcaption", caption, class_="caption"),
        class_=f"plot {kind}".strip(),
        aria_label=title,
    )


def grid_of(plots: Sequence[Markup]) -> Markup:
    """Plots beside and below each other, then the remarks; report.css lays out any number."""
    drawn = [each for each in plots if not isinstance(each, Remark)]
    remarks = [element("p", each, class_="caption") for each in plots if isinstance(each, Remark)]
    return joined([element("div", *drawn, class_=f"plots of-{len(drawn)}"), *remarks])


def absent(title: str, why: str) -> Remark:
    """In place of a plot."""
    return Remark(joined([element("b", title), ": ", why]))


def link(target: Path, base: Path, text: str) -> Markup:
    """A link to a file, relative to the directory `base`, so that both can be moved together."""
    return element("a", text, href=quote(os.fsencode(os.path.relpath(target, base))))


def command(text: str) -> Markup:
    """A line for a terminal, with a button that copies it."""
    button = element("button", "Copy", type="button", data_copy=text, aria_label=f"Copy {text}")
    return element("div", element("code", text), button, class_="command")


def choice(label: str, options: Mapping[str, str], plot: str) -> Markup:
    """A list to choose from, which redraws a plot; nothing if there is only one option."""
    if len(options) < 2:
        return Markup()
    entries = [element("option", text, value=value) for value, text in options.items()]
    return element("label", f"{label} ", element("select", *entries, data_plot=plot))


def axes_choice(plot: str) -> Markup:
    """Two lists, which the script fills with the axes of a map."""
    lists = [
        element("label", f"{word} ", element("select", data_axis=i, data_axes_of=plot))
        for i, word in enumerate(("across", "up"))
    ]
    return element("span", *lists, class_="axes-choice", data_choice_of=plot)


def slider(plot: str, last: int) -> Markup:
    """A slider for the last generation on a map, with a button that plays it."""
    label = f"slider-{plot}"
    return element(
        "div",
        element("button", "▶ Play", type="button", data_play=plot),
        element("label", "up to generation ", element("output", last, for_=label), for_=label),
        element("input", type="range", min=1, max=max(1, last), value=last, id=label,
                data_plot=plot, autocomplete="off"),
        class_="slider",
    )  # fmt: skip


def page(title: str, body: Iterable[object], plots: Plots) -> bytes:
    """A whole, self-contained page."""
    from plotly.offline import get_plotlyjs

    scripts = [get_plotlyjs(), asset("report.js")]
    policy = "; ".join(
        [
            "default-src 'none'",
            f"script-src {' '.join(map(_hash, scripts))}",
            "style-src 'unsafe-inline'",
            "img-src data: blob:",
            "media-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )
    head = [
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        element("style", Markup(asset("report.css"))),
    ]
    content = {"config": CONFIG, "plots": plots}
    data = json.dumps(content, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    tail = [
        element("script", Markup(data), type="application/json", id="content"),
        *(element("script", Markup(script)) for script in scripts),
    ]
    main = element("main", *body)
    text = element("html", element("head", *head), element("body", main, *tail), lang="en")
    return f"<!doctype html>\n{text}\n".encode(errors="replace")  # a name may hold a lone surrogate


def asset(name: str) -> str:
    """The text of a file that is part of every page."""
    return (resources.files("nses.experiment.showing") / "pages" / name).read_text("utf-8")


def _hash(script: str) -> str:
    digest = hashlib.sha256(script.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
