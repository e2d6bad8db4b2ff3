import os
from dataclasses import replace

import numpy as np
import pytest

from nses.experiment.analysis.statistics import median_interval
from nses.experiment.analysis.stories import coverage, curve_of, find_runs, story_of
from nses.experiment.runs.storage import CheckpointRefused
from pretended import make_run


def stories(tmp_path, *scores, **settings):
    return [
        story_of(make_run(tmp_path / f"{i}", row, seed=i, **settings))
        for i, row in enumerate(scores)
    ]


def test_a_run_that_has_ended_has_a_score_and_a_retest(tmp_path):
    story = story_of(make_run(tmp_path / "a", [1.0, 7.0, 3.0], retest=[4.0, 6.0]))
    assert (story.best, story.tested, story.done, story.generation) == (7.0, 5.0, True, 3)


def test_a_run_in_progress_has_a_score_so_far_and_no_retest(tmp_path):
    story = story_of(make_run(tmp_path / "a", [1.0, 7.0], generations=10))
    assert (story.best, story.done) == (7.0, False)
    assert np.isnan(story.tested)


def test_a_run_that_was_extended_has_no_retest_until_it_has_ended_again(tmp_path):
    run = make_run(tmp_path / "a", [1.0, 7.0], retest=[5.0])
    longer = replace(run, config=replace(run.config, generations=9))
    assert (story_of(run).done, story_of(longer).done) == (True, False)
    assert np.isnan(story_of(longer).tested)


def test_s2_a_run_that_has_ended_is_done_even_if_its_last_line_is_lost(tmp_path):
    run = make_run(tmp_path / "a", [1.0, 2.0, 7.0], retest=[5.0])
    metrics = run.path / "metrics.jsonl"
    metrics.write_text("".join(metrics.read_text().splitlines(keepends=True)[:2]))
    story = story_of(run)
    assert (story.done, story.generation, story.best, story.tested) == (True, 3, 7.0, 5.0)


def test_an_episode_of_the_retest_that_failed_does_not_count(tmp_path):
    story = story_of(make_run(tmp_path / "a", [7.0], retest=[4.0, float("nan"), 6.0]))
    assert (story.retest, story.tested) == ([4.0, 6.0], 5.0)


@pytest.mark.parametrize(
    "line",
    [
        '{"generation": Infinity}',
        '{"generation": 1e400}',
        '{"generation": 3}',
        '{"generation": "three"}',
        '{"generation": 3, "member": null}',
        "[" * 100_000,
    ],
)
def test_lines_that_we_would_not_write_are_left_out(tmp_path, line):
    run = make_run(tmp_path / "a", [1.0, 2.0], generations=9)
    with (run.path / "metrics.jsonl").open("a") as file:
        file.write(line + "\n")
    assert story_of(run).generation == 2


def test_numbers_beyond_all_bounds_are_left_out(tmp_path):
    run = make_run(tmp_path / "a", [1.0, 2.0], generations=9)
    metrics = run.path / "metrics.jsonl"
    metrics.write_text(metrics.read_text().replace('"best": 2.0', f'"best": {10**400}'))
    assert story_of(run).best == 1.0


def test_s9_a_pipe_or_a_link_in_the_place_of_a_log_is_refused(tmp_path):
    run = make_run(tmp_path / "a", [1.0])
    metrics = run.path / "metrics.jsonl"
    metrics.unlink()
    os.mkfifo(metrics)
    with pytest.raises(CheckpointRefused, match="not a regular file"):
        story_of(run)
    metrics.unlink()
    metrics.symlink_to("/dev/zero")
    with pytest.raises(CheckpointRefused, match="cannot be read"):
        story_of(run)


def test_a_run_without_a_generation_has_neither(tmp_path):
    story = story_of(make_run(tmp_path / "a", [], generations=10))
    assert (story.generation, story.done) == (0, False)
    assert np.isnan(story.best)


def test_a_curve_is_the_median_of_the_best_so_far(tmp_path):
    curve = curve_of(stories(tmp_path, [1, 5, 2], [2, 3, 9], [0, 0, 1]), "generation")
    assert curve.x.tolist() == [1, 2, 3]
    assert curve.median.tolist() == [1, 3, 5]
    assert curve.runs.tolist() == [3, 3, 3]
    expected = median_interval(np.array([[1, 5, 5], [2, 3, 9], [0, 0, 1]]).T, 999)
    assert curve.low.tolist() == expected[0].tolist()
    assert curve.high.tolist() == expected[1].tolist()


def test_where_some_runs_have_not_got_that_far_a_curve_uses_the_others(tmp_path):
    curve = curve_of(stories(tmp_path, [1, 5, 7], [3]), "generation")
    assert curve.median.tolist() == [2, 5, 7]
    assert curve.runs.tolist() == [2, 1, 1]
    assert np.isnan(curve.low[1:]).all()


def test_the_curve_of_one_run_has_no_interval_and_no_runs_have_no_curve(tmp_path):
    curve = curve_of(stories(tmp_path, [1, 5]), "generation")
    assert curve.median.tolist() == [1, 5]
    assert np.isnan(curve.low).all()
    assert curve_of(stories(tmp_path / "empty", []), "generation") is None


@pytest.mark.parametrize(("retest", "runs"), [([1.0], 2), (None, 1)])
def test_along_hours_a_run_that_has_ended_keeps_what_it_found(tmp_path, retest, runs):
    fast = story_of(make_run(tmp_path / "fast", [1, 4], retest=retest, seed=0, generations=2))
    slow = story_of(make_run(tmp_path / "slow", [2, 8], retest=[1.0], seed=1, pace=10))
    curve = curve_of([fast, slow], "hours")
    assert curve.x[-1] == pytest.approx(0.02)
    assert curve.runs[-1] == runs
    assert curve.median[-1] == (6.0 if retest else 8.0)


def test_a_long_run_has_a_curve_of_a_few_hundred_points_with_its_first_and_last(tmp_path):
    (story,) = stories(tmp_path, np.arange(5000.0))
    curve = curve_of([story], "generation")
    assert len(curve.x) <= 400
    assert (curve.x[0], curve.x[-1], curve.median[-1]) == (1, 5000, 4999)
    assert (curve.median == curve.x - 1).all()


def test_coverage_counts_the_cells_that_were_seen_of_those_that_any_run_saw(tmp_path):
    corners = [(0, 0), (20, 20), (0.5, 0.5), (10, 10)]
    one = story_of(make_run(tmp_path / "a", [0] * 4, behaviors=corners))
    two = story_of(make_run(tmp_path / "b", [0] * 2, behaviors=[(0, 0), (0, 0)], seed=1))
    shares = coverage([one, two])
    assert [x.tolist() for x in shares] == [
        [1 / 400, 2 / 400, 2 / 400, 3 / 400],
        [1 / 400, 1 / 400],
    ]


def test_behaviors_that_are_not_in_two_dimensions_have_no_coverage(tmp_path):
    story = story_of(make_run(tmp_path / "a", [0], behaviors=False))
    assert coverage([story]) is None
    assert story.behaviors is None


def test_runs_are_found_below_a_directory_each_once(tmp_path):
    first = make_run(tmp_path / "x" / "es" / "seed-0", [1])
    second = make_run(tmp_path / "x" / "es" / "seed-1", [1], seed=1)
    found = find_runs([tmp_path, first.path])
    assert [run.path for run in found] == [first.path, second.path]


def test_a_directory_without_runs_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"holds no run.*nses train"):
        find_runs([tmp_path])


@pytest.mark.parametrize("text", ["{", '{"format": "x"}', '{"versions": [1]}'])
def test_a_damaged_run_is_named_and_the_others_are_loaded(tmp_path, caplog, text):
    run = make_run(tmp_path / "a", [1])
    damaged = make_run(tmp_path / "b", [1])
    (damaged.path / "config.json").write_text(text)
    assert [r.path for r in find_runs([tmp_path])] == [run.path]
    assert str(damaged.path) in caplog.text
    with pytest.raises(CheckpointRefused, match="config"):
        find_runs([damaged.path])
