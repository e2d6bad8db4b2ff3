import numpy as np
import pytest

from nses.experiment.analysis.comparison import compare
from nses.experiment.analysis.stories import AXES, find_runs, story_of
from nses.experiment.showing import charts, figures, plots
from nses.experiment.showing.plot_parts import css
from pretended import make_run, pretend, write_metrics


@pytest.fixture
def contest(tmp_path):
    """Two algorithms; some runs of the second have not got far."""
    for algorithm in ("es", "nsra-es"):
        for seed in range(3):
            got = 9 if algorithm == "es" else 3 * (seed + 1)
            place = tmp_path / algorithm / str(seed)
            make_run(place, np.arange(got), algorithm=algorithm, seed=seed, generations=9)
    (contest,) = compare(find_runs([tmp_path]))
    return contest


@pytest.fixture
def drawn(monkeypatch):
    """Axes of Matplotlib, as they are when the figure is saved."""
    panels = []
    monkeypatch.setattr(figures, "save", lambda figure, path: panels.extend(figure.axes))
    return panels


@pytest.mark.parametrize("axis", AXES)
def test_both_renderings_of_a_learning_curve_have_the_same_lines(contest, drawn, tmp_path, axis):
    figures.curves([contest], axis, tmp_path / "x.png")
    figure = plots.figure_of(charts.learning(contest.groups, axis))
    lines = [t for t in figure["data"] if "fill" not in t]
    (axes,) = drawn
    assert len(axes.lines) == len(lines)
    for line, trace in zip(axes.lines, lines, strict=True):
        assert css(line.get_color()) == trace["line"]["color"]
        assert line.get_linestyle() == {"solid": "-", "dash": "--"}[trace["line"]["dash"]]
        known = np.isfinite(line.get_ydata())
        assert max(y for y in trace["y"] if y is not None) == line.get_ydata()[known].max()
    layout = figure["layout"]
    assert axes.get_xlabel() == layout["xaxis"]["title"]["text"]
    assert axes.get_ylabel() == layout["yaxis"]["title"]["text"]


def test_a_run_among_others_is_drawn_alike_in_files_and_on_pages(contest, drawn, tmp_path):
    figures.archives([contest], tmp_path / "x.png")
    figure = plots.figure_of(charts.exploration(contest.groups))
    (axes,) = drawn
    assert axes.get_ylabel() == figure["layout"]["yaxis"]["title"]["text"] == "coverage"
    for line, trace in zip(axes.lines, figure["data"], strict=True):
        assert css(line.get_color(), line.get_alpha()) == trace["line"]["color"]
        assert line.get_drawstyle() == "steps-post"
        assert trace["line"]["shape"] == "hv"


def test_a_training_reward_is_drawn_beside_the_reward_of_the_task(tmp_path):
    run = make_run(tmp_path / "run", np.arange(5))
    plain = charts.learning_of(story_of(run), "generation")
    write_metrics(run.path, [r | {"training_mean": -r["score"]} for r in run.metrics])
    shifted = charts.learning_of(story_of(run), "generation")
    (added,) = {line.label for line in shifted.lines} - {line.label for line in plain.lines}
    assert added == "candidates, training reward"
    assert shifted.lines[-1].y.tolist() == [0, -1, -2, -3, -4]


def test_the_weight_is_drawn_where_the_algorithm_adapts_it_and_nowhere_else(contest, tmp_path):
    chart = charts.weights(contest.groups)
    assert {line.label for line in chart.lines} == {"nsra-es"}
    assert len(chart.lines) == 3  # moved or not
    assert charts.weights(contest.groups[:1]) is None
    assert not figures.weights([], tmp_path / "weight.png")


def test_where_updates_went_is_drawn_where_there_is_a_trap_and_nowhere_else(
    contest, drawn, tmp_path
):
    assert figures.allocations([contest], tmp_path / "x.png")
    (axes,) = drawn
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["es", "nsra-es"]
    assert len(axes.lines) == 3  # ES has no members to choose from
    chart = charts.allocation(contest.groups)
    assert chart is not None
    traces = plots.figure_of(chart)["data"]
    assert [t["name"] for t in traces] == ["es", "nsra-es", "nsra-es, members"]
    assert [t["showlegend"] for t in traces] == [True, True, False]
    free = compare([make_run(tmp_path / "free", [1.0, 2.0], task="point")])
    assert not figures.allocations(free, tmp_path / "y.png")


def test_a_median_is_dashed_from_the_last_point_that_all_runs_reached(contest):
    _, median = charts.learning(contest.groups, "generation").medians
    (whole, dashed), (rest, dashed_too) = median.stretches()
    assert (dashed, dashed_too) == (False, True)
    assert whole.tolist() == [True] * 3 + [False] * 6
    assert rest.tolist() == [False] * 2 + [True] * 7


def test_behaviors_that_are_not_in_a_plane_are_shown_by_their_novelty(tmp_path):
    run = pretend(tmp_path / "run", task="CartPole-v1", behavior=4)
    (contest,) = compare([run])
    assert charts.exploration(contest.groups).y == "mean novelty"


def test_every_member_has_its_line_which_stays_level_until_its_next_update(tmp_path):
    story = story_of(
        make_run(tmp_path / "run", [1.0, 7.0, 3.0, 5.0], algorithm="nsr-es", members=2)
    )
    for record, m in zip(story.records, (0, 1, 1, 0), strict=True):
        record["member"] = m
    _, first, second, _ = charts.learning_of(story, "generation").lines
    assert (first.label, second.label) == ("member 0", "member 1")
    assert (first.x.tolist(), first.y.tolist()) == ([1, 4, 4], [1, 5, 5])
    assert (second.x.tolist(), second.y.tolist()) == ([2, 3, 4], [7, 3, 3])
    assert first.steps
    assert first.color != second.color


def test_weights_that_members_have_of_their_own_have_a_line_each(tmp_path):
    settings = {"algorithm": "nsra-es", "members": 2}
    for per_member in (False, True):
        path = tmp_path / str(per_member)
        (contest,) = compare([make_run(path, range(9), weight_per_member=per_member, **settings)])
        chart = charts.weights(contest.groups)
        assert len(chart.lines) == 1 + per_member
        assert sum(len(line.x) for line in chart.lines) == 9


def test_ticks_of_a_few_generations_and_of_small_shares_differ(tmp_path):
    (contest,) = compare([make_run(tmp_path / "run", [1.0, 2.0, 3.0])])
    axis = plots.figure_of(charts.learning(contest.groups, "generation"))["layout"]["xaxis"]
    assert axis["dtick"] == 1
    shares = plots.figure_of(charts.exploration(contest.groups))["layout"]["yaxis"]
    assert shares["tickformat"] == ".3~%"  # not a rounded percentage


def test_the_best_so_far_is_drawn_over_the_other_lines_of_a_run(tmp_path):
    chart = charts.learning_of(story_of(pretend(tmp_path / "run")), "generation")
    assert chart.lines[-1].label == "best so far"
    assert chart.lines[-1].steps
