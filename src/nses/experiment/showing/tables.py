"""Tables of a comparison: what each group came to, how sure the differences are, and its runs."""

import math
import shlex
from pathlib import Path

from nses.experiment.analysis.comparison import Contest, Pair, Row
from nses.experiment.analysis.paper import caption
from nses.experiment.analysis.stories import Story
from nses.experiment.runs.run import REPORT, Run
from nses.experiment.showing.drawing import colors_of
from nses.experiment.showing.markup import Markup, command, element, joined, link, table
from nses.experiment.showing.plot_parts import css
from nses.words import short

HEADS = (
    "algorithm",
    "runs ended",
    "best: median [95 %]",
    "IQM",
    "least to most",
    "re-test: median [95 %]",
    "IQM",
)
TEST_HEADS = ("pair", "U", "p", "p (Holm)", "effect", "re-test: U", "p", "p (Holm)", "effect")
EFFECT = (
    "The effect is how often a run of the first beats one of the second; 0.5 is neither. "
    "Holm's correction counts all pairs of the task."
)


def state_of(story: Story) -> tuple[str, str]:
    """What became of a run, for a reader and as the class of an element."""
    if story.done:
        return "finished", "finished"
    if not story.records:
        return "no generation yet", "begun"
    return f"in progress: generation {story.generation} of {story.run.config.generations}", "begun"


def replay_command(run: Run) -> str:
    """To which --generation G can be added."""
    return f"nses replay {shlex.quote(str(run.path))}"


def scores(contest: Contest, *, paper: bool) -> list[Markup]:
    """What the groups came to and how sure their differences are, after what is to be known."""
    parts = []
    if contest.notes:
        lines = element("ul", *(element("li", note) for note in contest.notes))
        parts.append(element("div", lines, class_="notes", role="note"))
    heads = [*HEADS]
    heads += [f"solved (> {short(contest.goal)})"] if contest.goal is not None else []
    heads += ["paper (quoted)"] if paper else []
    paints = map(css, colors_of([group.algorithm for group in contest.groups]))
    rows = [
        _row(row, paint, contest, paper) for row, paint in zip(contest.rows, paints, strict=True)
    ]
    parts.append(table(heads, rows, "Scores"))
    if paper:
        parts.append(element("p", caption(contest.task), class_="caption"))
    if contest.pairs:
        parts.append(table(TEST_HEADS, map(_pair, contest.pairs), "Differences (Mann-Whitney U)"))
        parts.append(element("p", EFFECT, class_="caption"))
    return parts


def _row(row: Row, paint: str, contest: Contest, paper: bool) -> list[object]:
    swatch = element("span", class_="swatch", style=f"background:{paint}", aria_hidden="true")
    cells: list[object] = [
        joined([swatch, row.label]),
        f"{row.done} of {row.runs}",
        _interval(row.best_median, row.best_low, row.best_high),
        _number(row.best_iqm),
        f"{short(row.best_min)} to {short(row.best_max)}" if math.isfinite(row.best_min) else "–",
        _interval(row.retest_median, row.retest_low, row.retest_high),
        _number(row.retest_iqm),
    ]
    if contest.goal is not None:
        cells.append(f"{row.reached} of {row.runs}")
    if paper:
        cells.append("–" if row.paper is None else short(row.paper))
    return cells


def _pair(pair: Pair) -> list[object]:
    best = (pair.u, pair.p, pair.p_holm, pair.effect)
    retest = (pair.retest_u, pair.retest_p, pair.retest_p_holm, pair.retest_effect)
    return [f"{pair.a} against {pair.b}", *map(_probability, best), *map(_probability, retest)]


def _number(x: float) -> str:
    return short(x) if math.isfinite(x) else "–"


def _probability(x: float) -> str:
    return f"{x:.3g}" if math.isfinite(x) else "–"


def _interval(middle: float, low: float, high: float) -> Markup:
    if not (math.isfinite(low) and math.isfinite(high)):
        return joined([_number(middle)])
    return joined(
        [f"{short(middle)} ", element("span", f"[{short(low)}, {short(high)}]", class_="interval")]
    )


def runs_of(contest: Contest, base: Path) -> Markup:
    """Every run, with a link to its own page, as seen from the directory `base`."""
    rows = []
    for group in contest.groups:
        for story in group.stories:
            page = story.run.path / REPORT
            place = str(story.run.path)
            made = command(story.run.command)
            rows.append(
                (group.label, story.run.config.seed, state_of(story)[0], _number(story.best),
                 _number(story.tested), link(page, base, place) if page.exists() else place, made)
            )  # fmt: skip
    heads = ("algorithm", "seed", "state", "best", "re-test", "directory", "made by")
    summary = element("summary", f"All {len(rows)} runs" if len(rows) > 1 else "The run")
    return element("details", summary, table(heads, rows, "Runs"))
