"""The result of a run in words: exact or lucky, and in variations of its task."""

import csv
import io
import json
from dataclasses import replace

import pytest
from rich.console import Console

from checkpoints import a_state
from nses.experiment.analysis.comparison import compare
from nses.experiment.analysis.stories import find_runs
from nses.experiment.export.model_card import _results, model_card
from nses.experiment.runs import checkpoint
from nses.experiment.runs.start import START
from nses.experiment.settings.config import to_dict
from nses.experiment.showing.info import facts_of
from nses.experiment.showing.progress import show_end
from nses.experiment.showing.publish import publish
from nses.experiment.showing.report import write_run_report
from nses.experiment.showing.results import certainty, conditions_of, in_variations, retest_of
from pretended import make_run

STARTS = (4, 2, 7)
TESTS = {"sticky actions 0.25": [3.0, 5.0], "no-ops 31-60": [6.0]}
EXACT = {"retest": [8.0, 9.0, 10.0], "variations": TESTS, "starts": STARTS, "generations": 1}


@pytest.fixture
def exact(tmp_path):
    return make_run(tmp_path / "exact", [9.0], evaluation_episodes=3, **EXACT)


@pytest.fixture
def lucky(tmp_path):
    return make_run(tmp_path / "lucky", [9.0], evaluation_episodes=2, **EXACT)


def told(show, *arguments, width=200):
    console = Console(file=io.StringIO(), width=width)
    show(*arguments, console)
    return console.file.getvalue()


def test_a_score_over_all_starts_is_exact_and_any_other_is_lucky(exact, lucky):
    assert certainty(exact) == "exact, the mean over all 3 starts of an episode"
    assert "optimistic" in certainty(lucky)


def test_a_retest_of_all_starts_is_exact_too(lucky, tmp_path):
    assert retest_of(lucky, lucky.retest) == ("9", "exact, over all 3 starts")
    drawn = make_run(tmp_path / "drawn", [9.0], retest_episodes=2, **EXACT)
    assert retest_of(drawn, [8.0, 10.0]) == ("9", "± 1 in 2 fresh episodes")


def test_variations_have_a_mean_and_a_spread():
    words = in_variations(TESTS | {"all failed": []})
    assert words == {
        "sticky actions 0.25": ("4", "± 1 in 2 episodes"),
        "no-ops 31-60": ("6", "± 0 in 1 episode"),
    }


def test_the_end_of_training_says_it_all(exact, lucky):
    for run, sure in ((exact, certainty(exact)), (lucky, "9 exact, over all 3 starts")):
        state = a_state(1)
        state = replace(state, best=replace(state.best, score=9.0, generation=1, member=0))
        checkpoint.save(run.path / checkpoint.DIRECTORY, state, to_dict(run.config))
        text = told(show_end, run)
        assert f"score 9 (generation 1, member 0); {sure}\n" in text
        assert "sticky actions 0.25: 4 ± 1 in 2 episodes; no-ops 31-60: 6 ± 0 in 1 episode" in text
    assert "optimistic" not in told(show_end, exact)


def test_info_and_model_card_name_the_variations(exact, lucky):
    facts = facts_of(exact)
    assert facts["best score is"] == certainty(exact)
    assert (facts["with sticky actions 0.25"], facts["with no-ops 31-60"]) == (4.0, 6.0)
    card = _results(exact, "best")
    assert "the mean of 3 episodes in generation 1 (member 0). It is exact," in card
    assert "With sticky actions 0.25: **4** ± 1 in 2 episodes." in card
    assert "Re-test" not in card
    assert "Re-test: **9**, exact, over all 3 starts of an episode." in _results(lucky, "best")
    assert "too optimistic" in _results(lucky, "best")


def test_info_report_and_model_card_say_under_which_conditions_a_run_was_trained(tmp_path):
    run = make_run(
        tmp_path / "fast", [9.0], task="humanoid", retest=[8.0], training_reward=5,
        environment=("integrator=implicitfast",), start_from="runs/other:best", scale="smoke",
    )  # fmt: skip
    state, said = a_state(1), {"run": "runs/other", "policy": "best", "digest": "abc"}
    checkpoint.save(run.path / checkpoint.DIRECTORY, state, to_dict(run.config))
    checkpoint.save_best(run.path / START, state.best, said)
    conditions = {
        "simulation": "integrator implicitfast instead of RK4",
        "training reward": "that of the task minus 5 per step",
        "started from": "best of runs/other, whose digest was abc",
    }
    assert conditions_of(run) == conditions
    assert facts_of(run).items() >= conditions.items()
    page, card = write_run_report(run).read_text(), model_card(run, "best", 0.0, 1)
    for name, words in conditions.items():
        assert f"{name}: {words}" in page
        assert f"| {name} | {words} |" in card
    (run.path / START).write_bytes(b"damaged")
    assert "cannot be read" in conditions_of(run)["started from"]


def test_a_run_under_the_usual_conditions_says_nothing_about_them(exact):
    assert conditions_of(exact) == {}


def test_the_report_of_a_run_does_not_call_an_exact_score_lucky(exact, lucky):
    page, other = (write_run_report(run).read_text() for run in (exact, lucky))
    assert "exact, the mean over all 3 starts of an episode" in page
    assert "with sticky actions 0.25" in page
    assert "re-test of the best policy" not in page
    assert "re-test of the best policy" in other
    assert "too optimistic" in other
    assert "too optimistic" not in page


@pytest.mark.parametrize(("episodes", "again"), [(3, False), (2, True)])
def test_a_comparison_shows_variations_and_a_retest_only_of_lucky_scores(episodes, again, tmp_path):
    for algorithm in ("es", "ns-es"):
        for seed in range(2):
            settings = {"algorithm": algorithm, "seed": seed, "evaluation_episodes": episodes}
            make_run(tmp_path / "runs" / algorithm / str(seed), [9.0], **EXACT, **settings)
    contests = compare(find_runs([tmp_path / "runs"]))
    out = tmp_path / "out"
    console = Console(file=io.StringIO(), width=80)
    publish(contests, out, console, command="nses compare x", paper=False)
    text = console.file.getvalue()
    assert "no-ops 31-60" in text
    assert ("re-test" in text) == again
    assert ("scores are exact" in text) != again
    assert "…" not in text
    assert "no-ops 31-60" in (out / "report.html").read_text()
    rows = list(csv.DictReader(io.StringIO((out / "variations.csv").read_text())))
    assert [(row["variation"], row["label"], float(row["median"])) for row in rows] == [
        ("sticky actions 0.25", "es", 4.0), ("sticky actions 0.25", "ns-es", 4.0),
        ("no-ops 31-60", "es", 6.0), ("no-ops 31-60", "ns-es", 6.0),
    ]  # fmt: skip
    runs = list(csv.DictReader(io.StringIO((out / "runs.csv").read_text())))
    means = {"sticky actions 0.25": 4.0, "no-ops 31-60": 6.0}
    assert json.loads(runs[0]["variations"]) == means
    document = json.loads((out / "comparison.json").read_text())
    assert document["runs"][0]["variations"] == means
    assert document["runs"][0]["exact"] != again
    assert len(document["variations"]) == 4
