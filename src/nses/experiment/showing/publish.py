"""A comparison as people take it: tables in the terminal and as files, pictures, and one page."""

import csv
import hashlib
import io
import json
import math
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from nses.experiment.analysis.comparison import Contest, Pair, Row
from nses.experiment.analysis.gather import LeftOut
from nses.experiment.analysis.paper import caption
from nses.experiment.analysis.scenes import scene_of
from nses.experiment.analysis.statistics import CONFIDENCE
from nses.experiment.analysis.stories import AXES, Story, story_of
from nses.experiment.runs.endings import BEST
from nses.experiment.runs.run import CURVE, REPORT, Run
from nses.experiment.runs.storage import slug, storing, write_atomically
from nses.experiment.showing import figures
from nses.experiment.showing.overhead import overhead
from nses.experiment.showing.report import write_comparison_report, write_run_report
from nses.words import say, short

OVERHEAD = "overhead.png"

EXPLANATION = (
    f"median: of the runs' best scores, when they won [{CONFIDENCE:.0%} bootstrapped interval]; "
    "IQM: mean of the middle half\n"
    "re-test: the same for the best policies' means in fresh episodes, which luck does not favour\n"
    "wins: how often a run of the first beats one of the second; p: two-sided Mann-Whitney U, "
    "corrected for all pairs (Holm)"
)


def publish(
    contests: Sequence[Contest],
    directory: Path,
    console: Console,
    *,
    command: str,
    paper: bool,
    left_out: Sequence[LeftOut] = (),
) -> None:
    """Everything that a comparison says, on the screen and in a directory."""
    with storing(directory):
        directory.mkdir(parents=True, exist_ok=True)
    for contest in contests:
        show(contest, console, paper)
    for fault in left_out:
        console.print(Text(f"left out: {fault}", "yellow"), soft_wrap=True)
    console.print(EXPLANATION, style="dim", highlight=False, soft_wrap=True)
    console.print()
    write_tables(contests, directory, command, left_out)
    pictures = draw(contests, directory)
    page = write_comparison_report(
        contests, directory / REPORT, command=command, paper=paper, left_out=left_out
    )
    say(console, "page", _quoted(page))
    first, *others = pictures
    names = ", ".join([_quoted(first), *(path.name for path in others)])
    say(console, "pictures", f"{names} (and .pdf)")
    say(console, "tables", f"{_quoted(directory / 'table.csv')}, pairs.csv, runs.csv, curves.csv")
    say(console, "all as JSON", _quoted(directory / "comparison.json"))


def show(contest: Contest, console: Console, paper: bool) -> None:
    """One task in the terminal: its groups, every two of them, and what to know about them."""
    console.print(table_of(contest, paper))
    if contest.pairs:
        console.print(pairs_of(contest))
    if paper:
        console.print(Text(caption(contest.task), "dim"), soft_wrap=True)
    for note in contest.notes:
        console.print(Text(f"note: {note}", "yellow"), soft_wrap=True)


def table_of(contest: Contest, paper: bool = False) -> Table:
    goal = "out" if contest.task.endswith("-trap") else "solved"
    headers = ["runs", "median", "", "IQM", "re-test", ""]
    headers += [] if contest.goal is None else [goal]
    headers += ["quoted from\nthe paper"] if paper else []
    table = table_with("algorithm", *headers)
    table.title, table.title_justify = Text(contest.task), "left"
    table.columns[3].justify = table.columns[6].justify = "left"
    for row in contest.rows:
        cells: list[str | Text] = [
            f"{row.done}" if row.done == row.runs else f"{row.done} of {row.runs}",
            short_or_none(row.best_median),
            interval(row.best_low, row.best_high),
            short_or_none(row.best_iqm),
            short_or_none(row.retest_median),
            interval(row.retest_low, row.retest_high),
        ]
        cells += [] if row.reached is None else [f"{row.reached}/{row.runs}"]
        cells += [short(row.paper)] if paper else []
        table.add_row(Text(row.label), *cells)
    return table


def pairs_of(contest: Contest) -> Table:
    table = table_with("", "wins", "p", "p (Holm)", "re-test:\nwins", "p", "p (Holm)")
    for pair in contest.pairs:
        cells = [
            *(share(pair.effect), p_value(pair.p), p_value(pair.p_holm)),
            *(share(pair.retest_effect), p_value(pair.retest_p), p_value(pair.retest_p_holm)),
        ]
        table.add_row(Text(f"{pair.a} against {pair.b}"), *cells)
    return table


def table_with(*headers: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column(headers[0], style="bold", overflow="fold")
    for header in headers[1:]:
        table.add_column(header, justify="right", no_wrap=True)
    return table


def short_or_none(value: float) -> str:
    return short(value if math.isfinite(value) else None)


def interval(low: float, high: float) -> Text:
    return Text(f"[{short(low)}, {short(high)}]" if math.isfinite(low) else "")


def share(effect: float) -> str:
    return f"{effect:.0%}" if math.isfinite(effect) else "-"


def p_value(p: float) -> str:
    if not math.isfinite(p):
        return "-"
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def write_tables(
    contests: Sequence[Contest], directory: Path, command: str, left_out: Sequence[LeftOut] = ()
) -> None:
    """The numbers behind it all: one CSV each of groups, pairs, runs and curves; and one JSON."""
    rows = [asdict(row) for contest in contests for row in contest.rows]
    pairs = [asdict(pair) for contest in contests for pair in contest.pairs]
    runs = [
        {"task": contest.task, "label": group.label, **outcome_of(story)}
        for contest in contests
        for group in contest.groups
        for story in group.stories
    ]
    _write_csv(directory / "table.csv", rows, list(Row.__dataclass_fields__))
    _write_csv(directory / "pairs.csv", pairs, list(Pair.__dataclass_fields__))
    _write_csv(directory / "runs.csv", runs, list(runs[0]))
    _write_csv(directory / "curves.csv", _curve_rows(contests), CURVE_COLUMNS)
    document = {
        "command": command,
        "notes": {contest.task: contest.notes for contest in contests},
        "goals": {contest.task: contest.goal for contest in contests},
        "rows": rows,
        "pairs": pairs,
        "runs": runs,
        "left_out": [asdict(fault) for fault in left_out],
    }
    text = json.dumps(_standard(document), indent=1) + "\n"
    write_atomically(directory / "comparison.json", text.encode())


def outcome_of(story: Story) -> dict[str, Any]:
    """What a run came to, with all that a test by hand needs."""
    last = story.records[-1] if story.records else {}
    return {
        "algorithm": story.run.config.algorithm,
        "seed": story.run.config.seed,
        "best": story.best,
        "retest": story.tested,
        "done": story.done,
        "generation": story.generation,
        "generations": story.run.config.generations,
        "episodes": last.get("episodes", 0),
        "env_steps": last.get("env_steps", 0),
        "hours": last.get("seconds", 0.0) / 3600,
        "directory": str(story.run.path),
    }


FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n")
CURVE_COLUMNS = ["task", "label", "axis", "x", "median", "low", "high", "runs"]


def _curve_rows(contests: Sequence[Contest]) -> Iterable[dict[str, Any]]:
    for contest in contests:
        for group in contest.groups:
            for axis in AXES:
                curve = group.curve(axis)
                if curve is None:
                    continue
                columns = (curve.x, curve.median, curve.low, curve.high, curve.runs)
                for numbers in zip(*(column.tolist() for column in columns), strict=True):
                    values = (contest.task, group.label, axis, *numbers)
                    yield dict(zip(CURVE_COLUMNS, values, strict=True))


def _write_csv(path: Path, rows: Iterable[dict[str, Any]], columns: list[str]) -> None:
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({name: _cell(value) for name, value in row.items()})
    write_atomically(path, text.getvalue().encode(errors="replace"))  # half a letter in a name


def _cell(value: Any) -> Any:
    """A text that a spreadsheet would take for a formula begins with an apostrophe instead."""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULAS) else value


def _standard(value: Any) -> Any:
    """JSON has no NaN and no infinity."""
    if isinstance(value, dict):
        return {name: _standard(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_standard(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def draw(contests: Sequence[Contest], directory: Path) -> list[Path]:
    """All pictures; returns where they are."""
    drawn = []
    for axis in AXES:
        path = directory / ("curves.png" if axis == "generation" else f"curves-{axis}.png")
        figures.curves(contests, axis, path)
        drawn.append(path)
    if figures.weights(contests, directory / "weight.png"):
        drawn.append(directory / "weight.png")
    figures.archives(contests, directory / "archive.png")
    drawn.append(directory / "archive.png")
    for contest in contests:
        if any(story.behaviors is None for story in contest.stories):
            continue
        name = "overhead" if len(contests) == 1 else f"overhead-{_file_name(contest.task)}"
        scenes = [scene_of(group.stories[0].run.config) for group in contest.groups]
        runs = {group.label: group.stories for group in contest.groups}
        overhead(runs, scenes, directory / f"{name}.png")
        drawn.append(directory / f"{name}.png")
    return drawn


def _file_name(task: str) -> str:
    try:
        return slug(task)
    except ValueError:  # a name that --run-dir made possible
        return f"task-{hashlib.sha256(task.encode(errors='replace')).hexdigest()[:8]}"


def draw_run(run: Run) -> None:
    """The pictures of one run and its page, in its directory."""
    story = story_of(run)
    figures.curve(story, run.path / CURVE)
    if story.behaviors is not None:
        runs = {run.config.algorithm: (story,)}
        overhead(runs, [scene_of(run.config)], run.path / OVERHEAD)
    write_run_report(run)  # the last, see `is_drawn`


def is_drawn(run: Run) -> bool:
    """Whether the pictures of a run and its page are there, and the page is not of before its end.

    Only by their names and dates: copying a run may make them old, and then they are drawn again.
    """
    pictures = [CURVE, OVERHEAD] if run.facts.behavior_size == 2 else [CURVE]
    names = [str(Path(x).with_suffix(suffix)) for x in pictures for suffix in (".png", ".pdf")]
    if not all((run.path / name).is_file() for name in (*names, REPORT, BEST)):
        return False
    return (run.path / REPORT).stat().st_mtime_ns >= (run.path / BEST).stat().st_mtime_ns


def _quoted(path: Path) -> str:
    return shlex.quote(str(path))
