"""A run, or a comparison of runs, as one HTML page that opens anywhere without a network."""

import base64
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from nses import __version__
from nses.experiment.analysis.comparison import Contest, Group
from nses.experiment.analysis.paper import caption as quotation
from nses.experiment.analysis.stories import AXES, Story, story_of
from nses.experiment.runs.run import REPORT, Run, read_config
from nses.experiment.runs.storage import regular_file, write_atomically
from nses.experiment.settings.command import changes_of
from nses.experiment.settings.config import to_dict
from nses.experiment.showing import plots, tables
from nses.experiment.showing.cells import Column, Table, plain
from nses.experiment.showing.markup import (
    Markup,
    Plots,
    absent,
    choice,
    command,
    element,
    joined,
    link,
    page,
    plot,
    slider,
    table,
)
from nses.experiment.showing.tables import replay_command
from nses.words import duration, short

LARGEST_PAGE = 8_000_000  # bytes
DIAMONDS = 40_000  # on all maps of a page together
NO_MAP = "No map: the behavior of this task is not a point in two dimensions."
NOTHING_YET = "Nothing to show yet: no generation has ended."


def write_run_report(run: Run, path: Path | None = None) -> Path:
    """The page of a run, as far as it got; beside its files if no path is given."""
    path = run.path / REPORT if path is None else path
    story = story_of(run)
    data: Plots = {}
    body = [*_run_head(story), _run_plots(story, data), *_settings(story, path.parent)]
    title = _title(run)
    room = LARGEST_PAGE - len(page(title, body, data))
    body.insert(-1, _videos_shown(_videos(run.path), room, path.parent))
    write_atomically(path, page(title, body, data))
    return path


def write_comparison_report(
    contests: Sequence[Contest],
    path: Path,
    *,
    command: str,
    paper: bool = False,
    left_out: Sequence[object] = (),
) -> Path:
    """The page of runs side by side, a section per task; `paper` quotes the paper's numbers.

    It begins with the runs that are `left_out`, and why.
    """
    tasks = [contest.task for contest in contests]
    runs = sum(len(contest.stories) for contest in contests)
    title = f"Comparison on {tasks[0]}" if len(tasks) == 1 else f"Comparison on {len(tasks)} tasks"
    data: Plots = {}
    body = [element("header", element("h1", title), _made_by(command, runs))]
    body += _notes([f"left out: {fault}" for fault in left_out])
    if len(tasks) > 1:
        links = [element("li", element("a", t, href=f"#task-{i}")) for i, t in enumerate(tasks)]
        body.append(element("nav", element("ul", *links), aria_label="tasks"))
    diamonds = max(100, min(plots.MAP_POINTS, DIAMONDS // max(1, runs)))
    for i, contest in enumerate(contests):
        body += [element("h2", contest.task, id=f"task-{i}")] if len(tasks) > 1 else []
        body += _scores(contest, path.parent, paper)
        body.append(_contest_plots(contest, data, i, diamonds))
        body.append(_runs(contest, path.parent))
    body.append(_footer())
    write_atomically(path, page(title, body, data))
    return path


def _scores(contest: Contest, base: Path, paper: bool) -> list[Markup]:
    """What the groups came to and how sure their differences are, after what is to be known."""
    parts = [*_notes(contest.notes), table(tables.scores(contest, paper=paper), base)]
    if paper:
        parts.append(element("p", quotation(contest.task), class_="caption"))
    if contest.pairs:
        parts.append(table(tables.differences(contest), base))
    return parts


def _notes(notes: Sequence[str]) -> list[Markup]:
    if not notes:
        return []
    lines = element("ul", *(element("li", note) for note in notes))
    return [element("div", lines, class_="notes", role="note")]


def _runs(contest: Contest, base: Path) -> Markup:
    every = tables.runs(contest)
    count = len(every.records)
    summary = element("summary", f"All {count} runs" if count > 1 else "The run")
    return element("details", summary, table(every, base))


def _title(run: Run) -> str:
    return f"{run.config.task}, {run.config.algorithm.upper()}, seed {run.config.seed}"


def _run_head(story: Story) -> list[Markup]:
    state = tables.state_of(story)
    cells = [
        element("div", element("dt", name), element("dd", value, element("small", more)))
        for name, (value, more) in _facts(story).items()
    ]
    badge = element("p", element("span", state.text, class_=f"state {state.kind}"))
    header = element("header", element("h1", _title(story.run)), badge)
    return [header, element("dl", *cells, class_="facts")]


def _facts(story: Story) -> dict[str, tuple[str, str]]:
    """What a reader asks first: a number, and a remark."""
    facts = {"generation": (f"{story.generation:,}", f"of {story.run.config.generations:,}")}
    if not story.records:
        return facts
    last = story.records[-1]
    won = next((r for r in story.records if r["score"] == last["best"]), None)
    facts["best score when it won"] = (
        short(last["best"]),
        f"generation {won['generation']}, member {won['member']}"
        if won
        else "one of the first members, or not logged",
    )
    spread = short(float(np.std(story.retest))) if story.done else ""
    facts["re-test of that policy"] = (
        (short(story.tested), f"± {spread} in {len(story.retest)} fresh episodes")
        if story.done
        else ("–", "when the run has ended")
    )
    facts["episodes"] = (f"{last['episodes']:,}", f"{last['env_steps']:,} steps")
    speed = last["env_steps"] / max(last["seconds"], 1e-9)
    facts["training time"] = (duration(last["seconds"]), f"{speed:,.0f} steps/s")
    return facts


def _run_plots(story: Story, data: Plots) -> Markup:
    if not story.records:
        return element("p", NOTHING_YET, class_="empty")
    group = Group(story.run.config.algorithm, story.run.config.algorithm, (story,))
    curves = {axis: plots.run_curves(story, axis) for axis in AXES}
    shown = [
        plot("Learning", "curves", curves, data,
              "The best score so far is the maximum of noisy means: a lucky one.",
              controls=choice("along", AXES, "curves")),
        _map({"": story}, data, "map", plots.MAP_POINTS),
        plot("Archive", "archive", {"": plots.archive(story)}, data,
              "The behaviors seen so far, and the share of the cells of a 20 × 20 grid over "
              "all of them that was visited." if story.behaviors is not None else
              "The behaviors seen so far, and how far the candidates were from their nearest."),
    ]  # fmt: skip
    weights, selection = plots.weights([group]), plots.selection(story)
    weight = short(story.records[-1]["weight"])
    shown.append(
        plot("Weight of reward against novelty", "weight", {"": weights}, data,
              "w = 1 follows reward alone, w = 0 novelty alone.")
        if weights else absent("Weight of reward against novelty",
                                f"w has been {weight} all the time.")
    )  # fmt: skip
    shown.append(
        plot("Which member is updated", "selection", {"": selection}, data,
              "The probability of each member, by its novelty (Eq. 1).")
        if selection else absent("Which member is updated", "There is one member alone.")
    )  # fmt: skip
    return element("div", *shown, class_="plots five")


def _map(named: Mapping[str, Story], data: Plots, name: str, most: int) -> Markup:
    """Runs from above, one at a time, with a slider through their generations."""
    title = "Where policies ended"
    if all(story.behaviors is None for story in named.values()):
        return absent(title, NO_MAP)
    shown = {n: s for n, s in named.items() if s.behaviors is not None and s.records}
    if not shown:
        return absent(title, NOTHING_YET)
    begun = list(shown.values())
    figures = {
        str(i): plots.overhead(story, most)
        | {"replay": replay_command(story.run), "last": story.generation}
        for i, story in enumerate(begun)
    }
    names = {str(i): name for i, name in enumerate(shown)}
    thinned = any(story.generation > most for story in begun)
    caption = (
        "One diamond per generation at the behavior of the updated member, darker = later."
        + (f" Of long runs, {most:,} generations are drawn." if thinned else "")
    )
    hint = element("p", "Click a diamond, or move the slider, to see how to replay it.")
    picked = element("div", hint, class_="picked", data_plot=name, aria_live="polite")
    below = joined([slider(name, begun[0].generation), picked])
    return plot(title, name, figures, data, caption, controls=choice("run", names, name),
                 below=below, kind="map")  # fmt: skip


def _settings(story: Story, base: Path) -> list[Markup]:
    run = story.run
    document = read_config(run.path)
    directory = shlex.quote(str(run.path))
    more = 2 * run.config.generations
    lines = {
        "Made by": run.command,
        "Continue it": f"nses resume {directory}" + (f" --generations {more}" * story.done),
        "Test its best policy": f"nses evaluate {directory}",
        "See it": f"nses render {directory}",
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
    resumed = document.get("resumed") or []
    parts = [
        element("h2", "How it was made"),
        *(joined([element("h3", name), command(line)]) for name, line in lines.items()),
    ]
    if isinstance(resumed, list) and resumed:
        notes = [r for r in resumed if isinstance(r, dict)]
        again = [
            element("li", f"from {r.get('generation')}: ", element("code", r.get("command")))
            for r in notes
        ]
        parts += [element("h3", "Continued since"), element("ul", *again)]
    columns = (
        Column[tuple[str, str]]("of", plain(lambda item: item[0])),
        Column[tuple[str, str]]("version", plain(lambda item: item[1])),
    )
    versions = Table("Versions it was begun with", columns, tuple(run.versions.items()))
    said = f"changed: {', '.join(changes)}" if changes else "none changed"
    summary = f"All settings (recipe {run.config.recipe}; {said})"
    parts += [
        element("details", element("summary", summary), table(grid, base)),
        element("details", element("summary", "Versions"), table(versions, base)),
        _footer(),
    ]
    return parts


def _value(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return "not set" if value is None else str(value)


def _videos(directory: Path) -> list[Path]:
    """The best policy first; a symbolic link may lead anywhere, and is not followed."""
    files = [f for f in directory.glob("*.mp4") if f.is_file() and not f.is_symlink()]
    return sorted(files, key=lambda file: (file.name != "best.mp4", file.name))


def _videos_shown(files: Sequence[Path], room: int, base: Path) -> Markup:
    """Films inside the page while there is room for them, else links to their files."""
    shown = []
    for file in files:
        with regular_file(file) as (opened, size):
            fits = size * 4 / 3 + 1000 < room
            content = opened.read() if fits else b""
        if fits:
            source = f"data:video/mp4;base64,{base64.b64encode(content).decode()}"
            room -= len(source)
            shown.append(element("video", src=source, controls=True, aria_label=file.name))
        else:
            shown.append(element("p", link(file, base, f"{file.name} (too large for this page)")))
    return joined([element("h2", "Films"), *shown]) if shown else Markup()


def _made_by(line: str, runs: int) -> Markup:
    count = element("p", f"{runs} run{'s' * (runs != 1)}, made with:")
    return joined([count, command(line)])


def _contest_plots(contest: Contest, data: Plots, index: int, diamonds: int) -> Markup:
    groups = [replace(g, stories=tuple(s for s in g.stories if s.records)) for g in contest.groups]
    if not any(group.stories for group in groups):
        return element("p", NOTHING_YET, class_="empty")
    name = f"curves-{index}"
    curves = {axis: plots.group_curves(contest.groups, axis, contest.goal) for axis in AXES}
    named = {f"{g.label}, seed {s.run.config.seed}": s for g in groups for s in g.stories}
    weights = plots.weights(groups)
    flat = contest.stories[0].behaviors is not None
    shown = [
        plot("Learning", name, curves, data,
              "Median over the runs and its bootstrapped 95 % interval; dashed where not all runs "
              "of an algorithm have got.", controls=choice("along", AXES, name)),
        _map(named, data, f"map-{index}", diamonds),
        plot("Exploration", f"exploration-{index}", {"": plots.exploration(groups)}, data,
              "A line per run: the share that it has visited of a 20 × 20 grid over all that any "
              "of these runs saw." if flat else
              "A line per run: mean novelty of the candidates."),
        plot("Weight of reward against novelty", f"weight-{index}", {"": weights}, data,
              "A line per run: w = 1 follows reward alone, w = 0 novelty alone.")
        if weights else absent("Weight of reward against novelty", "No weight has moved."),
    ]  # fmt: skip
    return element("div", *shown, class_="plots")


def _footer() -> Markup:
    return element(
        "footer",
        element(
            "small", f"Made by nses {__version__}. This page is complete: it needs no network."
        ),
    )
