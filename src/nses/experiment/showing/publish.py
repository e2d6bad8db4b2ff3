"""The output of a comparison: tables in the terminal and as files, pictures, and a report."""

import csv
import hashlib
import io
import json
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.text import Text

from nses.experiment.analysis.comparison import Contest, Row
from nses.experiment.analysis.gather import LeftOut
from nses.experiment.analysis.pairs import Pair
from nses.experiment.analysis.planes import plane_of
from nses.experiment.analysis.scenes import scene_of
from nses.experiment.analysis.stories import AXES, Story, story_of
from nses.experiment.analysis.variations import Varied, varied
from nses.experiment.runs.encoding import standard
from nses.experiment.runs.endings import BEST
from nses.experiment.runs.run import CURVE, REPORT, Run
from nses.experiment.runs.storage import slug, storing, write_atomically
from nses.experiment.showing import figures, tables
from nses.experiment.showing.overhead import overhead
from nses.experiment.showing.report import write_comparison_report, write_run_report
from nses.experiment.showing.terminal import grid_of
from nses.words import say

OVERHEAD = "overhead.png"


def publish(
    contests: Sequence[Contest],
    directory: Path,
    console: Console,
    *,
    command: str,
    paper: bool,
    left_out: Sequence[LeftOut] = (),
) -> None:
    """Show a comparison in the terminal and write it to a directory."""
    with storing(directory):
        directory.mkdir(parents=True, exist_ok=True)
    for contest in contests:
        show(contest, console, paper)
    for fault in left_out:
        console.print(Text(f"left out: {fault}", "yellow"), soft_wrap=True)
    shown = [t for c in contests for t in (tables.scores(c, paper=paper), tables.variations(c))]
    captions = [t.caption for t in shown if t.records]
    captions += [tables.DIFFERENCES for contest in contests if contest.pairs]
    for caption in dict.fromkeys(captions):
        console.print(caption, style="dim", highlight=False, soft_wrap=True)
    console.print()
    write_tables(contests, directory, command, left_out)
    pictures = draw(contests, directory)
    page = write_comparison_report(
        contests, directory / REPORT, command=command, paper=paper, left_out=left_out
    )
    say(console, "report", _quoted(page))
    first, *more = pictures
    names = ", ".join([_quoted(first), *(path.name for path in more)])
    say(console, "pictures", f"{names} (and .pdf)")
    others = "pairs.csv, runs.csv, variations.csv, curves.csv"
    say(console, "tables", f"{_quoted(directory / 'table.csv')}, {others}")
    say(console, "JSON", _quoted(directory / "comparison.json"))


def show(contest: Contest, console: Console, paper: bool) -> None:
    """Print one task: its groups, every pair of them, and the notes."""
    console.print(grid_of(tables.scores(contest, paper=paper), contest.task))
    if contest.pairs:
        console.print(grid_of(tables.differences(contest)))
    if (elsewhere := tables.variations(contest)).records:
        console.print(grid_of(elsewhere))
    for line in tables.quotations(contest) if paper else ():
        console.print(Text(line, "dim"), soft_wrap=True)
    for note in contest.notes:
        console.print(Text(f"note: {note}", "yellow"), soft_wrap=True)


def write_tables(
    contests: Sequence[Contest], directory: Path, command: str, left_out: Sequence[LeftOut] = ()
) -> None:
    """Write all numbers: one CSV each for groups, pairs, runs and curves, and one JSON."""
    rows = [row for contest in contests for row in contest.rows]
    pairs = [pair for contest in contests for pair in contest.pairs]
    elsewhere = [row for contest in contests for row in varied(contest)]
    runs = [
        outcome_of(story, contest.task, group.label)
        for contest in contests
        for group in contest.groups
        for story in group.stories
    ]
    _write_csv(directory / "table.csv", Row, rows)
    _write_csv(directory / "pairs.csv", Pair, pairs)
    _write_csv(directory / "runs.csv", Outcome, runs)
    _write_csv(directory / "variations.csv", Varied, elsewhere)
    _write_csv(directory / "curves.csv", Point, _points(contests))
    document = {
        "command": command,
        "notes": {contest.task: contest.notes for contest in contests},
        "goals": {contest.task: contest.goal for contest in contests},
        "rows": list(map(asdict, rows)),
        "pairs": list(map(asdict, pairs)),
        "runs": list(map(asdict, runs)),
        "variations": list(map(asdict, elsewhere)),
        "left_out": list(map(asdict, left_out)),
    }
    text = json.dumps(standard(document), indent=1) + "\n"
    write_atomically(directory / "comparison.json", text.encode())


@dataclass(frozen=True)
class Outcome:
    """The result of a run, with everything that a statistical test by hand needs."""

    task: str
    label: str
    algorithm: str
    seed: int
    best: float
    retest: float
    done: bool
    generation: int
    generations: int
    episodes: int
    env_steps: int
    hours: float
    directory: str
    exact: bool  # whether the best score is: the mean over all starts
    variations: dict[str, float]  # mean of the best policy in variations of the task


def outcome_of(story: Story, task: str, label: str) -> Outcome:
    last = story.records[-1] if story.records else {}
    return Outcome(
        task=task,
        label=label,
        algorithm=story.run.config.algorithm,
        seed=story.run.config.seed,
        best=story.best,
        retest=story.tested,
        done=story.done,
        generation=story.generation,
        generations=story.run.config.generations,
        episodes=last.get("episodes", 0),
        env_steps=last.get("env_steps", 0),
        hours=last.get("seconds", 0.0) / 3600,
        directory=str(story.run.path),
        exact=story.run.exact,
        variations={name: float(np.mean(f)) for name, f in story.variations.items() if f},
    )


@dataclass(frozen=True)
class Point:
    """A point of a learning curve along an axis."""

    task: str
    label: str
    axis: str
    x: float
    median: float
    low: float
    high: float
    runs: int


def _points(contests: Sequence[Contest]) -> Iterable[Point]:
    for contest in contests:
        for group in contest.groups:
            for axis in AXES:
                curve = group.curve(axis)
                if curve is None:
                    continue
                columns = (curve.x, curve.median, curve.low, curve.high, curve.runs)
                for numbers in zip(*(column.tolist() for column in columns), strict=True):
                    yield Point(contest.task, group.label, axis, *numbers)


FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n")


def _write_csv(path: Path, kind: type, records: Iterable[Any]) -> None:
    """One line per record of this kind, one column per field."""
    columns = [field.name for field in fields(kind)]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    for record in records:
        writer.writerow([_cell(getattr(record, name)) for name in columns])
    write_atomically(path, text.getvalue().encode(errors="replace"))  # a lone surrogate in a name


def _cell(value: Any) -> Any:
    """Text that a spreadsheet would take for a formula gets an apostrophe in front."""
    if isinstance(value, dict):
        return json.dumps(value)
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULAS) else value


def draw(contests: Sequence[Contest], directory: Path) -> list[Path]:
    """Draw all pictures and return their paths."""
    drawn = []
    for axis in AXES:
        path = directory / ("curves.png" if axis == "generation" else f"curves-{axis}.png")
        figures.curves(contests, axis, path)
        drawn.append(path)
    if figures.weights(contests, directory / "weight.png"):
        drawn.append(directory / "weight.png")
    if figures.allocations(contests, directory / "allocation.png"):
        drawn.append(directory / "allocation.png")
    figures.archives(contests, directory / "archive.png")
    drawn.append(directory / "archive.png")
    for contest in contests:
        plane = plane_of(contest.stories)
        if plane is None:
            continue
        name = "overhead" if len(contests) == 1 else f"overhead-{_file_name(contest.task)}"
        scenes = [scene_of(group.stories[0].run) for group in contest.groups]
        runs = {group.label: group.stories for group in contest.groups}
        overhead(runs, scenes, plane, directory / f"{name}.png")
        drawn.append(directory / f"{name}.png")
    return drawn


def _file_name(task: str) -> str:
    try:
        return slug(task)
    except ValueError:  # not a file name; only --run-dir makes such a task name possible
        return f"task-{hashlib.sha256(task.encode(errors='replace')).hexdigest()[:8]}"


def draw_run(run: Run) -> None:
    """Draw the pictures of one run and write its report, in its directory."""
    story = story_of(run)
    figures.curve(story, run.path / CURVE)
    plane = plane_of([story])
    if plane is not None:
        runs = {run.config.algorithm: (story,)}
        overhead(runs, [scene_of(run)], plane, run.path / OVERHEAD)
    write_run_report(run)  # last: `is_drawn` relies on it


def is_drawn(run: Run) -> bool:
    """Whether the pictures and the report of a run exist, and the report shows its end.

    This only looks at names and dates: if copying a run changes them, the pictures are drawn again.
    """
    pictures = [CURVE, OVERHEAD] if run.facts.behavior_size else [CURVE]
    names = [str(Path(x).with_suffix(suffix)) for x in pictures for suffix in (".png", ".pdf")]
    if not all((run.path / name).is_file() for name in (*names, REPORT, BEST)):
        return False
    return (run.path / REPORT).stat().st_mtime_ns >= (run.path / BEST).stat().st_mtime_ns


def _quoted(path: Path) -> str:
    return shlex.quote(str(path))
