"""The tables of a comparison: the scores of the groups, tests of their differences, all runs."""

import math
import shlex

from nses.experiment.analysis.comparison import Contest, Row
from nses.experiment.analysis.live import Live
from nses.experiment.analysis.pairs import Pair
from nses.experiment.analysis.paper import captions
from nses.experiment.analysis.statistics import CONFIDENCE
from nses.experiment.analysis.stories import Story
from nses.experiment.analysis.variations import Varied, varied
from nses.experiment.runs.run import REPORT, Run
from nses.experiment.showing.cells import (
    MISSING,
    Cell,
    Column,
    Table,
    interval,
    number,
    p_value,
    plain,
    share,
)
from nses.experiment.showing.drawing import colors_of
from nses.words import short

INTERVAL = f"[{100 * CONFIDENCE:.0f} %]"
BEST = (
    f"median: of the runs' best scores, with its bootstrapped interval {INTERVAL}; "
    "IQM: their interquartile mean\n"
)
SCORES = BEST + (
    "re-test: the same for the best policies in fresh episodes, without the luck of the best score"
)
EXACT = BEST + "scores are exact: means over all starts of an episode, without any luck"
VARIATIONS = (
    "the best policies in variations of the task, which training has not played; median, interval "
    "and IQM over the runs"
)
DIFFERENCES = (
    "wins: how often a run of the first beats one of the second; p: two-sided Mann-Whitney U test; "
    "Holm: corrected for all pairs of the task"
)
PAIRED = (
    "paired: Wilcoxon signed-rank test over the seeds that both have, because the same seed gives "
    "all algorithms the same start"
)


def scores(contest: Contest, *, paper: bool) -> Table[Row]:
    """The scores of the groups; with `paper`, the paper's numbers next to them."""
    paints = colors_of([group.algorithm for group in contest.groups])
    colors = dict(zip((row.label for row in contest.rows), paints, strict=True))
    columns = [
        Column[Row]("algorithm", lambda row: Cell(row.label, color=colors[row.label])),
        Column[Row]("runs", plain(_ended)),
        Column[Row]("median", _best, INTERVAL),
        Column[Row]("IQM", plain(lambda row: number(row.best_iqm))),
        Column[Row]("range", plain(_range), narrow=False),
    ]
    if not _exact(contest):
        columns += [
            Column("re-test", _retest, INTERVAL),
            Column("re-test:\nIQM", plain(lambda row: number(row.retest_iqm)), narrow=False),
        ]
    if contest.goal is not None:
        solved = "out" if contest.task.endswith("-trap") else "solved"
        title = f"{solved}\n> {short(contest.goal)}"
        columns.append(Column(title, plain(lambda row: f"{row.reached}/{row.runs}")))
    if paper:
        columns.append(Column("paper\n(quoted)", plain(lambda row: number(row.paper))))
    return Table("Scores", tuple(columns), contest.rows, EXACT if _exact(contest) else SCORES)


def _exact(contest: Contest) -> bool:
    """Whether all scores are, so that the same episodes again would tell nothing new."""
    return all(story.run.exact for story in contest.stories)


def quotations(contest: Contest) -> list[str]:
    """Where the paper's numbers are from, and why some are missing."""
    return captions(contest.task, {row.label: row.not_quoted for row in contest.rows})


def _ended(row: Row) -> str:
    return f"{row.runs}" if row.done == row.runs else f"{row.done} of {row.runs} done"


def _best(row: Row) -> Cell:
    return Cell(number(row.best_median), interval(row.best_low, row.best_high))


def _retest(row: Row) -> Cell:
    return Cell(number(row.retest_median), interval(row.retest_low, row.retest_high))


def _range(row: Row) -> str:
    known = math.isfinite(row.best_min)
    return f"{short(row.best_min)} to {short(row.best_max)}" if known else number(None)


def differences(contest: Contest) -> Table[Pair]:
    """The tests of every pair of groups."""
    columns = (
        Column[Pair]("pair", plain(lambda pair: f"{pair.a} against {pair.b}")),
        Column[Pair]("U", plain(lambda pair: number(pair.u)), narrow=False),
        Column[Pair]("wins", plain(lambda pair: share(pair.effect))),
        Column[Pair]("p", plain(lambda pair: p_value(pair.p))),
        Column[Pair]("p (Holm)", plain(lambda pair: p_value(pair.p_holm))),
    )
    paired = (
        Column[Pair]("paired:\np", plain(lambda pair: p_value(pair.paired_p)), narrow=False),
        Column[Pair]("p (Holm)", plain(lambda pair: p_value(pair.paired_p_holm)), narrow=False),
    )
    again = (
        Column[Pair]("re-test:\nU", plain(lambda pair: number(pair.retest_u)), narrow=False),
        Column[Pair]("re-test:\nwins", plain(lambda pair: share(pair.retest_effect))),
        Column[Pair]("p", plain(lambda pair: p_value(pair.retest_p))),
        Column[Pair]("p (Holm)", plain(lambda pair: p_value(pair.retest_p_holm))),
    )
    paired_again = (
        Column[Pair](
            "re-test paired:\np", plain(lambda pair: p_value(pair.retest_paired_p)), narrow=False
        ),
        Column[Pair](
            "p (Holm)", plain(lambda pair: p_value(pair.retest_paired_p_holm)), narrow=False
        ),
    )
    exact, caption = _exact(contest), f"{DIFFERENCES}; {PAIRED}"
    columns = columns + paired if exact else columns + again + paired + paired_again
    return Table("Differences (Mann-Whitney U)", columns, contest.pairs, caption)


def variations(contest: Contest) -> Table[Varied]:
    """What the best policies get in variations of the task."""
    columns = (
        Column[Varied]("algorithm", plain(lambda row: row.label)),
        Column[Varied]("with", plain(lambda row: row.variation)),
        Column[Varied]("runs", plain(lambda row: row.runs)),
        Column[Varied](
            "median", lambda row: Cell(number(row.median), interval(row.low, row.high)), INTERVAL
        ),
        Column[Varied]("IQM", plain(lambda row: number(row.iqm))),
    )
    return Table("Variations of the task", columns, varied(contest), VARIATIONS)


def runs(contest: Contest) -> Table[tuple[str, Story]]:
    """Every run, with the label of its group."""
    records = [(group.label, story) for group in contest.groups for story in group.stories]
    columns = (
        Column[tuple[str, Story]]("algorithm", plain(lambda r: r[0])),
        Column[tuple[str, Story]]("seed", plain(lambda r: r[1].run.config.seed)),
        Column[tuple[str, Story]]("state", plain(lambda r: state_of(r[1]).text)),
        Column[tuple[str, Story]]("best", plain(lambda r: number(r[1].best))),
        Column[tuple[str, Story]]("re-test", plain(lambda r: number(r[1].tested))),
        Column[tuple[str, Story]]("directory", lambda r: _directory(r[1].run)),
        Column[tuple[str, Story]]("command", lambda r: Cell(r[1].run.command, is_command=True)),
    )
    return Table("Runs", columns, tuple(records))


LIVE = (
    Column[Live]("task", plain(lambda live: live.story.run.config.task)),
    Column[Live]("algorithm", plain(lambda live: live.story.run.config.algorithm)),
    Column[Live]("seed", plain(lambda live: live.story.run.config.seed)),
    Column[Live]("generation", plain(
        lambda live: f"{live.story.generation:,} of {live.story.run.config.generations:,}")),
    Column[Live]("best", plain(lambda live: number(live.story.best))),
    Column[Live]("re-test", plain(lambda live: number(live.story.tested))),
    Column[Live]("steps/s", plain(
        lambda live: MISSING if live.speed is None else f"{live.speed:,.0f}")),
    Column[Live]("state", lambda live: Cell(live.state, kind=live.state)),
)  # fmt: skip


def _directory(run: Run) -> Cell:
    page = run.path / REPORT
    return Cell(str(run.path), target=page if page.exists() else None)


def state_of(story: Story) -> Cell:
    """Whether a run is finished, and how far it got if not."""
    if story.stop and story.done:
        return Cell(f"stopped: {story.stop.why}", kind="finished")
    if story.done:
        return Cell("finished", kind="finished")
    if not story.records:
        return Cell("no generation yet", kind="begun")
    far = f"generation {story.generation} of {story.run.config.generations}"
    if why := story.run.halt.after(story.generation):
        return Cell(f"stopped at {far}: {why}", kind="begun")
    return Cell(f"in progress: {far}", kind="begun")


def replay_command(run: Run) -> str:
    """The command to which --generation G is added."""
    return f"nses replay {shlex.quote(str(run.path))}"
