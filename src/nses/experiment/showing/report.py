"""A run, or a comparison of runs, as one HTML page that opens anywhere without a network."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from nses import __version__
from nses.experiment.analysis.comparison import Contest
from nses.experiment.analysis.diagnosis import diagnosed
from nses.experiment.analysis.groups import Group
from nses.experiment.analysis.planes import MOST_AXES, plane_of
from nses.experiment.analysis.stories import AXES, Story, story_of
from nses.experiment.runs.run import REPORT, Run
from nses.experiment.runs.storage import write_atomically
from nses.experiment.showing import charts, maps, plots, tables
from nses.experiment.showing.made import films, settings_of
from nses.experiment.showing.markup import (
    Markup,
    Plots,
    absent,
    axes_choice,
    choice,
    command,
    element,
    grid_of,
    joined,
    page,
    plot,
    slider,
    table,
)
from nses.experiment.showing.results import certainty, in_variations, retest_of
from nses.experiment.showing.tables import replay_command
from nses.words import duration, short

LARGEST_PAGE = 8_000_000  # bytes
DIAMONDS = 40_000  # on all maps of a page together
NO_MAP = "no map, because behaviors are traces: a row of bytes for every step."
NOTHING_YET = "Nothing to show yet: no generation has finished."


def write_run_report(run: Run, path: Path | None = None) -> Path:
    """Write the page of a run, however far it got; beside its files if no path is given."""
    path = run.path / REPORT if path is None else path
    story = story_of(run)
    data: Plots = {}
    body = [*_run_head(story), _run_plots(story, data), *settings_of(story, path.parent), _footer()]
    title = _title(run)
    room = LARGEST_PAGE - len(page(title, body, data))
    body.insert(-1, films(run.path, room, path.parent))
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
    """Write the page of a comparison, a section per task; `paper` quotes the paper's numbers.

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
    diamonds = max(100, min(maps.MAP_POINTS, DIAMONDS // max(1, runs) // _axes(contests)))
    for i, contest in enumerate(contests):
        body += [element("h2", contest.task, id=f"task-{i}")] if len(tasks) > 1 else []
        body += _scores(contest, path.parent, paper)
        body.append(_contest_plots(contest, data, i, diamonds))
        body.append(_runs(contest, path.parent))
    body.append(_footer())
    write_atomically(path, page(title, body, data))
    return path


def _axes(contests: Sequence[Contest]) -> int:
    """How many axes a diamond of the largest map has, counted in pairs."""
    sizes = [s.run.facts.behavior_size for contest in contests for s in contest.stories]
    return max(1, min(max(sizes, default=0), MOST_AXES) // 2)


def _scores(contest: Contest, base: Path, paper: bool) -> list[Markup]:
    """The notes, the scores of the groups, and the tests of their differences."""
    parts = [*_notes(contest.notes), table(tables.scores(contest, paper=paper), base)]
    lines = tables.quotations(contest) if paper else []
    parts += [element("p", line, class_="caption") for line in lines]
    if contest.pairs:
        parts.append(table(tables.differences(contest), base))
    if (elsewhere := tables.variations(contest)).records:
        parts.append(table(elsewhere, base))
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
    return [header, element("dl", *cells, class_="facts"), *_notes(diagnosed(story))]


def _facts(story: Story) -> dict[str, tuple[str, str]]:
    """The facts that a reader wants first, each with a remark."""
    facts = {"generation": (f"{story.generation:,}", f"of {story.run.config.generations:,}")}
    if not story.records:
        return facts
    last = story.records[-1]
    won = next((r for r in story.records if r["score"] == last["best"]), None)
    found = "an initial member, or not logged"
    if won:
        found = f"generation {won['generation']}, member {won['member']}"
    exact = f"; {certainty(story.run)}" if story.run.exact else ""
    facts["best score"] = (short(last["best"]), found + exact)
    facts |= _tests(story)
    facts["episodes"] = (f"{last['episodes']:,}", f"{last['env_steps']:,} steps")
    speed = last["env_steps"] / max(last["seconds"], 1e-9)
    facts["training time"] = (duration(last["seconds"]), f"{speed:,.0f} steps/s")
    return facts


def _tests(story: Story) -> dict[str, tuple[str, str]]:
    """How good the best policy is without luck, and in variations of the task."""
    name = "re-test of the best policy"
    if not story.done:
        return {name: ("–", "at the end of the run")}
    varied = {f"with {x}": result for x, result in in_variations(story.variations).items()}
    return varied if story.run.exact else {name: retest_of(story.run, story.retest), **varied}


def _run_plots(story: Story, data: Plots) -> Markup:
    if not story.records:
        return element("p", NOTHING_YET, class_="empty")
    group = Group(story.run.config.algorithm, story.run.config.algorithm, (story,))
    learned = {axis: charts.learning_of(story, axis) for axis in AXES}
    curves = {axis: plots.figure_of(chart, story.run.path) for axis, chart in learned.items()}
    shown = [
        plot("Learning", "curves", curves, data,
              charts.EXACT if story.run.exact else charts.LUCKY,
              controls=choice("by", AXES, "curves")),
        _map({"": story}, data, "map", maps.MAP_POINTS),
        plot("Archive", "archive", {"": plots.archive(story)}, data, charts.ARCHIVED),
        _weights([group], data, "weight"),
    ]  # fmt: skip
    selection, title = plots.selection(story), "Which member is updated"
    shown.append(
        plot(title, "selection", {"": selection}, data, charts.SELECTED)
        if selection
        else absent(title, "There is only one member.")
    )
    return grid_of([*shown, *_allocation([group], data, "allocation")])


def _weights(groups: Sequence[Group], data: Plots, name: str) -> Markup:
    title, chart = "Weight of reward against novelty", charts.weights(groups)
    if chart is None:
        fixed = {g.label: g.stories[0].records[-1]["weight"] for g in groups if g.stories}
        words = ", ".join(f"{label} {short(w)}" for label, w in fixed.items())
        return absent(title, f"The weight is fixed: {words}.")
    return plot(title, name, {"": plots.figure_of(chart)}, data, charts.WEIGHED)


def _map(named: Mapping[str, Story], data: Plots, name: str, most: int) -> Markup:
    """Runs from above, one at a time, with a slider through their generations."""
    title = "Where policies ended"
    planes = {n: plane for n, s in named.items() if (plane := plane_of([s]))}
    if not planes:
        return absent(title, NO_MAP)
    shown = {n: named[n] for n in planes if named[n].records}
    if not shown:
        return absent(title, NOTHING_YET)
    begun = list(shown.values())
    figures = {
        str(i): maps.map_to_choose_from(story, planes[n], most)
        | {"replay": replay_command(story.run), "last": story.generation}
        for i, (n, story) in enumerate(shown.items())
    }
    names = {str(i): name for i, name in enumerate(shown)}
    thinned = any(story.generation > most for story in begun)
    more = f" Of longer runs, only {most:,} generations are drawn." if thinned else ""
    caption = charts.DIAMONDS + more
    hint = element("p", "Click a diamond, or move the slider, to see how to replay it.")
    picked = element("div", hint, class_="picked", data_plot=name, aria_live="polite")
    below = joined([slider(name, begun[0].generation), picked])
    several = any("axes" in figure for figure in figures.values())
    controls = joined([choice("run", names, name), axes_choice(name) if several else ""])
    return plot(title, name, figures, data, caption, controls=controls, below=below, kind="map")


def _made_by(line: str, runs: int) -> Markup:
    count = element("p", f"{runs} run{'s' * (runs != 1)}, made with:")
    return joined([count, command(line)])


def _contest_plots(contest: Contest, data: Plots, index: int, diamonds: int) -> Markup:
    groups = [replace(g, stories=tuple(s for s in g.stories if s.records)) for g in contest.groups]
    if not any(group.stories for group in groups):
        return element("p", NOTHING_YET, class_="empty")
    name = f"curves-{index}"
    learned = {axis: charts.learning(contest.groups, axis, contest.goal) for axis in AXES}
    curves = {axis: plots.figure_of(chart) for axis, chart in learned.items()}
    named = {f"{g.label}, seed {s.run.config.seed}": s for g in groups for s in g.stories}
    explored = plots.figure_of(charts.exploration(groups))
    shown = [
        plot("Learning", name, curves, data, charts.MEDIANS, controls=choice("by", AXES, name)),
        _map(named, data, f"map-{index}", diamonds),
        plot("Exploration", f"exploration-{index}", {"": explored}, data, charts.EXPLORED),
        _weights(groups, data, f"weight-{index}"),
    ]
    return grid_of([*shown, *_allocation(groups, data, f"allocation-{index}")])


def _allocation(groups: Sequence[Group], data: Plots, name: str) -> list[Markup]:
    """Which updates went to members past the trap; nothing if there is no trap."""
    chart = charts.allocation(groups)
    if chart is None:
        return []
    figure = plots.figure_of(chart)
    return [plot("Where updates went", name, {"": figure}, data, charts.ALLOCATED)]


def _footer() -> Markup:
    return element(
        "footer",
        element("small", f"Made by nses {__version__}. This page works offline."),
    )
