"""How a run was made, as parts of its page: commands, settings, versions, videos."""

import base64
import shlex
from pathlib import Path
from typing import Any

from nses.experiment.analysis.stories import Story
from nses.experiment.runs.storage import regular_file
from nses.experiment.settings.command import changes_of
from nses.experiment.settings.config import to_dict
from nses.experiment.showing.cells import Column, Table, plain
from nses.experiment.showing.markup import Markup, command, element, joined, link, table
from nses.experiment.showing.results import conditions_of
from nses.experiment.showing.tables import replay_command


def settings_of(story: Story, base: Path) -> list[Markup]:
    run = story.run
    directory = shlex.quote(str(run.path))
    more = story.stop.flags if story.stop else f"--generations {2 * run.config.generations}"
    lines = {
        "Command": run.command,
        "Continue it": f"nses resume {directory}" + f" {more}" * story.done,
        "Test its best policy": f"nses evaluate {directory}",
        "Make a video of it": f"nses render {directory}",
        "Replay any generation": f"{replay_command(run)} --generation {max(1, story.generation)}",
    }
    changes = changes_of(run.config)
    settings = [(name, v) for name, v in to_dict(run.config).items() if name != "run_dir"]
    columns = (
        Column[tuple[str, Any]]("setting", plain(lambda item: item[0])),
        Column[tuple[str, Any]]("value", plain(lambda item: _value(item[1]))),
        Column[tuple[str, Any]]("", plain(lambda item: "changed" * (item[0] in changes))),
    )
    grid = Table("Settings", columns, tuple(settings), marked=lambda item: item[0] in changes)
    conditions = [element("p", f"{n}: {x}") for n, x in conditions_of(run).items()]
    parts = [
        element("h2", "How it was made"),
        *conditions,
        *(joined([element("h3", name), command(line)]) for name, line in lines.items()),
    ]
    if run.resumptions:
        again = [
            element("li", f"from generation {r.generation}: ", element("code", r.command))
            for r in run.resumptions
        ]
        parts += [element("h3", "Resumed"), element("ul", *again)]
    columns = (
        Column[tuple[str, str]]("name", plain(lambda item: item[0])),
        Column[tuple[str, str]]("version", plain(lambda item: item[1])),
    )
    versions = Table("Versions at its start", columns, tuple(run.versions.items()))
    said = f"changed: {', '.join(changes)}" if changes else "none changed"
    summary = f"All settings (recipe {run.config.recipe}; {said})"
    parts += [
        element("details", element("summary", summary), table(grid, base)),
        element("details", element("summary", "Versions"), table(versions, base)),
    ]
    return parts


def _value(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return "not set" if value is None else str(value)


def films(directory: Path, room: int, base: Path) -> Markup:
    """Videos inside the page while `room` bytes last, then links to their files."""
    shown = []
    for file in _videos(directory):
        with regular_file(file) as (opened, size):
            fits = size * 4 / 3 + 1000 < room
            content = opened.read() if fits else b""
        if fits:
            source = f"data:video/mp4;base64,{base64.b64encode(content).decode()}"
            room -= len(source)
            shown.append(element("video", src=source, controls=True, aria_label=file.name))
        else:
            shown.append(element("p", link(file, base, f"{file.name} (too large for this page)")))
    return joined([element("h2", "Videos"), *shown]) if shown else Markup()


def _videos(directory: Path) -> list[Path]:
    """The best policy first. Symbolic links are skipped: they may lead anywhere."""
    files = [f for f in directory.glob("*.mp4") if f.is_file() and not f.is_symlink()]
    return sorted(files, key=lambda file: (file.name != "best.mp4", file.name))
