import csv
import io
import json

import numpy as np
import pytest
import scipy.stats
from rich.console import Console

from nses.experiment.analysis import paper
from nses.experiment.analysis.comparison import compare
from nses.experiment.analysis.stories import find_runs
from nses.experiment.settings.recipes import recipe
from nses.experiment.showing.publish import publish, show
from nses.experiment.showing.report import write_run_report
from nses.rollouts.tasks.catalog import PAPER_GAMES
from pretended import make_run

RNG = np.random.default_rng(3)


@pytest.fixture
def experiment(tmp_path):
    """Three algorithms, six seeds each, all ended."""
    for algorithm, level in (("es", 5.0), ("nsr-es", 20.0), ("nsra-es", 21.0)):
        for seed in range(6):
            scores = level + RNG.normal(size=8)
            retest = scores.max() - RNG.random(5)
            make_run(
                tmp_path / algorithm / f"seed-{seed}",
                scores,
                algorithm=algorithm,
                seed=seed,
                retest=retest,
            )
    return tmp_path


def published(directory, output, **settings):
    console = Console(file=io.StringIO(), width=100)
    contests = compare(find_runs([directory]))
    publish(contests, output, console, command="nses compare x", **{"paper": False, **settings})
    return contests, console.file.getvalue()


def rows_of(path):
    return list(csv.DictReader(io.StringIO(path.read_text())))


@pytest.mark.slow
def test_the_statistics_are_those_of_scipy_on_the_csv_of_the_runs(experiment, tmp_path):
    """By hand, from runs.csv alone."""
    published(experiment, tmp_path / "out")
    runs = rows_of(tmp_path / "out" / "runs.csv")
    scores = {
        kind: {
            label: [float(r[kind]) for r in runs if r["label"] == label]
            for label in ("es", "nsr-es", "nsra-es")
        }
        for kind in ("best", "retest")
    }
    for row in rows_of(tmp_path / "out" / "table.csv"):
        for kind in scores:
            x = scores[kind][row["label"]]
            interval = scipy.stats.bootstrap(
                (x,), np.median, method="percentile", rng=np.random.default_rng(0)
            ).confidence_interval
            numbers = [
                float(row[f"{kind}_{name}"])
                for name in ("median", "low", "high", "iqm")
            ]  # fmt: skip
            expected = [np.median(x), interval.low, interval.high, scipy.stats.trim_mean(x, 0.25)]
            assert numbers == pytest.approx(expected)
    pairs = rows_of(tmp_path / "out" / "pairs.csv")
    assert [(p["a"], p["b"]) for p in pairs] == [
        ("es", "nsr-es"), ("es", "nsra-es"), ("nsr-es", "nsra-es"),
    ]  # fmt: skip
    for kind, prefix in (("best", ""), ("retest", "retest_")):
        tests = [
            scipy.stats.mannwhitneyu(scores[kind][p["a"]], scores[kind][p["b"]]) for p in pairs
        ]
        assert [float(p[prefix + "u"]) for p in pairs] == [t.statistic for t in tests]
        assert [float(p[prefix + "p"]) for p in pairs] == [t.pvalue for t in tests]
        assert [float(p[prefix + "effect"]) for p in pairs] == [t.statistic / 36 for t in tests]
        ordered = sorted(t.pvalue for t in tests)
        corrected = min(1.0, 3 * ordered[0])
        assert min(float(p[prefix + "p_holm"]) for p in pairs) == pytest.approx(corrected)


@pytest.mark.slow
def test_everything_is_written_as_csv_json_png_and_pdf(experiment, tmp_path):
    _, text = published(experiment, tmp_path / "out")
    names = {path.name for path in (tmp_path / "out").iterdir()}
    pictures = [
        *("curves", "curves-episodes", "curves-env_steps", "curves-hours"),
        *("weight", "allocation", "archive", "overhead"),
    ]
    expected = {f"{name}.{kind}" for name in pictures for kind in ("png", "pdf")}
    expected |= {"table.csv", "pairs.csv", "runs.csv", "curves.csv", "comparison.json"}
    assert expected <= names
    assert "nsr-es against nsra-es" in text
    document = json.loads((tmp_path / "out" / "comparison.json").read_text())
    assert len(document["runs"]) == 18
    assert document["goals"] == {"point-trap": pytest.approx(5.7)}


def test_the_goal_counts_the_runs_that_got_out(experiment):
    (contest,) = compare(find_runs([experiment]))
    assert [row.reached for row in contest.rows][1:] == [6, 6]


def test_runs_that_differ_in_a_setting_are_groups_of_their_own(tmp_path):
    for seed in range(2):
        for t_w in (10, 50):
            make_run(
                tmp_path / f"{t_w}-{seed}", [1.0], algorithm="nsra-es", seed=seed,
                weight_patience=t_w,
            )  # fmt: skip
    (contest,) = compare(find_runs([tmp_path]))
    assert [group.label for group in contest.groups] == [
        "nsra-es weight_patience=10", "nsra-es weight_patience=50",
    ]  # fmt: skip
    assert [len(group.stories) for group in contest.groups] == [2, 2]


def test_the_same_seed_twice_is_counted_once_and_noted(tmp_path):
    make_run(tmp_path / "a", [1.0], seed=3, generations=9)
    make_run(tmp_path / "b", [1.0, 2.0], seed=3, generations=9)
    (contest,) = compare(find_runs([tmp_path]))
    assert [story.run.path.name for story in contest.stories] == ["b"]
    assert any("seed 3 appears twice" in note for note in contest.notes)


def test_runs_in_progress_and_of_different_length_work_and_say_what_they_are(tmp_path):
    make_run(tmp_path / "a", [1.0, 2.0], seed=0, retest=[2.0])
    make_run(tmp_path / "b", [1.0, 2.0, 3.0], seed=1, generations=10)
    make_run(tmp_path / "c", [], seed=2, generations=10)
    make_run(tmp_path / "d", [4.0], algorithm="ns-es", retest=[4.0])
    (contest,), text = published(tmp_path, tmp_path / "out")
    notes = "\n".join(contest.notes)
    assert "es: 2 of 3 runs have not finished (seed 1 at 3 of 10, seed 2 at 0 of 10)" in notes
    assert "es: runs have different lengths: 2, 10 generations" in notes
    assert "ns-es: only one run" in notes
    assert all(f"note: {note}" in text.replace("\n", " ") for note in contest.notes)
    es, ns = contest.rows
    assert (es.runs, es.done, es.best_median, es.retest_median) == (3, 1, 2.5, 2.0)
    assert np.isnan(ns.best_low)
    document = json.loads((tmp_path / "out" / "comparison.json").read_text())
    assert document["rows"][1]["best_low"] is None


def test_a_run_without_any_generation_is_drawn_as_nothing(tmp_path):
    make_run(tmp_path / "a", [], generations=10)
    _, text = published(tmp_path, tmp_path / "out")
    assert "0 of 1" in text


@pytest.mark.slow
def test_several_tasks_are_compared_one_by_one(tmp_path):
    for task in ("point-trap", "CartPole-v1"):
        for algorithm in ("es", "ns-es"):
            for seed in range(2):
                path = tmp_path / task / algorithm / str(seed)
                make_run(path, [seed, 3.0], task=task, algorithm=algorithm, seed=seed, retest=[1])
    contests, _ = published(tmp_path, tmp_path / "out")
    assert [contest.task for contest in contests] == ["CartPole-v1", "point-trap"]
    assert [len(contest.pairs) for contest in contests] == [1, 1]
    assert (tmp_path / "out" / "overhead-CartPole-v1.png").exists()


def test_the_papers_numbers_stand_beside_ours_marked_as_quoted(tmp_path):
    T = recipe("humanoid-trap", "paper", "nsra-es").generations
    settings = {"task": "humanoid-trap", "algorithm": "nsra-es", "scale": "paper"}
    make_run(tmp_path / "a", [1.0], generations=T, **settings)
    (contest,) = compare(find_runs([tmp_path]))
    console = Console(file=io.StringIO(), width=100)
    show(contest, console, paper=True)
    text = console.file.getvalue()
    assert "(quoted)" in text
    assert "37.1" in text
    assert [row.paper for row in contest.rows] == [37.1]


def test_the_paper_is_quoted_for_all_its_games_however_they_are_spelled():
    assert all(len(paper.quoted(f"atari:{game}")) == 7 for game in PAPER_GAMES)
    assert paper.quoted("atari:MsPacman") == paper.quoted("atari:ms_pacman")
    assert paper.quoted("atari:frostbite")["nsra-es"] == 3785.4
    assert paper.quoted("CartPole-v1") == {}


def test_an_episode_that_failed_does_not_spoil_the_statistics_of_its_group(tmp_path):
    for algorithm in ("es", "ns-es"):
        for seed in range(3):
            retest = [1.0 + seed, float("nan") if seed == 1 else 2.0]
            path = tmp_path / algorithm / str(seed)
            make_run(path, [5.0 + seed], algorithm=algorithm, seed=seed, retest=retest)
    (contest,) = compare(find_runs([tmp_path]))
    assert [row.retest_median for row in contest.rows] == [2.0, 2.0]
    assert np.isfinite(contest.pairs[0].retest_p)


def test_other_differences_between_the_algorithms_are_noted(tmp_path):
    make_run(tmp_path / "a", [1.0], generations=3)
    make_run(tmp_path / "b", [1.0], algorithm="ns-es", generations=300, n=1000)
    make_run(tmp_path / "c", [1.0], algorithm="nsra-es", generations=300, weight=0.5)
    (contest,) = compare(find_runs([tmp_path]))
    (note,) = (note for note in contest.notes if "differ in more" in note)
    assert note.endswith(": n, generations")


def test_a_recipe_names_a_group_only_where_it_tells_the_settings(tmp_path):
    same = {"n": 50, "sigma": 0.3, "lr": 0.3, "k": 3}
    make_run(tmp_path / "a", [1.0])
    make_run(tmp_path / "b", [1.0], seed=1, **same)
    make_run(tmp_path / "c", [1.0], seed=2, recipe="paper")
    (contest,) = compare(find_runs([tmp_path]))
    assert [len(group.stories) for group in contest.groups] == [2, 1]
    assert "n=50" in contest.groups[1].label


def test_groups_with_different_traps_have_no_common_goal(tmp_path):
    make_run(tmp_path / "a", [1.0], task="humanoid-trap")
    make_run(tmp_path / "b", [1.0], task="humanoid-trap", environment=('trap={"back": 9}',))
    (contest,) = compare(find_runs([tmp_path]))
    assert contest.goal is None


@pytest.mark.parametrize(
    "settings",
    [{"behavior": "hostile:f"}, {"environment": ["behavior=hostile:f"]}, {"task": "hostile:Task"}],
)
def test_s9_comparing_runs_executes_nothing_that_they_name(tmp_path, settings, monkeypatch):
    (tmp_path / "hostile.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    run = make_run(tmp_path / "runs" / "a", [1.0, 2.0], retest=[1.0])
    document = json.loads((run.path / "config.json").read_text())
    document["config"] |= settings
    (run.path / "config.json").write_text(json.dumps(document))
    make_run(tmp_path / "runs" / "b", [1.0, 2.0], seed=1, retest=[1.0])
    contests, _ = published(tmp_path / "runs", tmp_path / "out")
    for contest in contests:
        for story in contest.stories:
            write_run_report(story.run)


def test_names_that_look_like_markup_are_shown_as_they_are(tmp_path):
    make_run(tmp_path / "[old]" / "a", [1.0], task="grid [/v2]")
    make_run(tmp_path / "[old]" / "b", [1.0], task="grid [/v2]", environment=("modes=[easy]",))
    contests = compare(find_runs([tmp_path]))
    console = Console(file=io.StringIO(), width=140)
    show(contests[0], console, paper=False)
    text = console.file.getvalue()
    assert "grid [/v2]" in text
    assert "modes=[easy]" in text


def test_the_paper_is_quoted_for_its_own_settings_alone_and_why_not_is_said(tmp_path):
    seaquest = {"task": "atari:seaquest", "behaviors": False, "scale": "paper", "generations": 200}
    for t_w in (10, 50):
        settings = {"algorithm": "nsra-es", "weight_patience": t_w}
        make_run(tmp_path / str(t_w), [1.0], **seaquest, **settings)
    make_run(tmp_path / "es", [1.0], **seaquest, weight_patience=10)  # which it does not have
    (contest,) = compare(find_runs([tmp_path]))
    assert [row.paper for row in contest.rows] == [960.0, None, 960.0]
    console = Console(file=io.StringIO(), width=100)
    show(contest, console, paper=True)
    text = console.file.getvalue()
    assert "DQN 4163" in text
    why = "Not quoted for nsra-es weight_patience=10: weight_patience=10 (paper: 50)."
    assert why in text.replace("\n", " ")


def test_of_a_laptop_run_nothing_is_quoted_and_why_is_said(tmp_path):
    make_run(tmp_path / "a", [1.0], task="atari:seaquest", behaviors=False, generations=100)
    (contest,), text = published(tmp_path, tmp_path / "out", paper=True)
    assert contest.rows[0].paper is None
    assert "Not quoted for es: generations=100 (paper: 200), n=60 (paper: 5000)" in text
    assert "960" not in text
    assert "DQN" not in text
    assert "Not quoted for es" in (tmp_path / "out" / "report.html").read_text()
    document = json.loads((tmp_path / "out" / "comparison.json").read_text())
    assert "max_steps=1000 (paper: auto)" in document["rows"][0]["not_quoted"]


def test_too_few_runs_for_the_papers_claims_are_said(tmp_path):
    for algorithm in ("es", "ns-es", "nsr-es", "nsra-es"):
        for seed in range(5):
            make_run(tmp_path / algorithm / str(seed), [1.0], algorithm=algorithm, seed=seed)
    (contest,) = compare(find_runs([tmp_path]))
    (note,) = (note for note in contest.notes if "too few runs" in note)
    assert "6 tests, no p can be below 0.048" in note
    assert "p < 0.01 needs 7 runs" in note


def test_a_narrow_terminal_shows_all_numbers_whatever_the_names(tmp_path):
    for t_w in (10, 50):
        for seed in range(2):
            path = tmp_path / f"{t_w}-{seed}"
            settings = {"algorithm": "nsra-es", "weight_patience": t_w, "retest": [1234.5]}
            make_run(path, [1234.5 + seed], seed=seed, **settings)
    (contest,) = compare(find_runs([tmp_path]))
    console = Console(file=io.StringIO(), width=80)
    show(contest, console, paper=True)
    text = console.file.getvalue()
    assert "…" not in text
    assert text.count("[1234, 1236]") == 2
