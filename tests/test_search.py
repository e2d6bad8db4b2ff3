"""The search for recipes decides as it says, however often it is interrupted."""

import numpy as np
import pytest
from benchmarks import search

from nses.experiment.settings.config import changed
from nses.experiment.settings.recipes import recipe


@pytest.mark.parametrize("task", search.SPACES)
def test_every_trial_has_settings_that_train_and_the_first_is_the_recipe(task):
    choices = search.SPACES[task]
    trials = list(search.settings_of(choices, 12))
    assert trials[:5] == list(search.settings_of(choices, 5))
    assert trials[0] == {}
    for settings in trials[1:]:
        assert settings.keys() == choices.keys()
        changed(recipe(task, "laptop", "es"), settings)


def test_the_best_third_of_a_rung_goes_on_for_three_times_the_steps(monkeypatch, tmp_path):
    asked = []

    def trained(task, place, seed, settings, steps, workers):
        asked.append((int(place.name.removeprefix("trial-")), steps))
        return place

    def tested(run, policy):
        better = {4: 9.0, 2: 8.0, 7: 7.0}.get(int(run.name.removeprefix("trial-")), 1.0)
        return search.Result(np.full(3, better), np.zeros(3))

    monkeypatch.setattr(search, "trained", trained)
    monkeypatch.setattr(search, "tested", tested)
    monkeypatch.setattr(search, "after", lambda run, steps: "final")
    best = search.search("humanoid", tmp_path, trials=9, steps=10, rungs=3, workers=1)
    assert asked == [*((i, 10) for i in range(9)), (4, 30), (2, 30), (7, 30), (4, 90)]
    assert best == list(search.settings_of(search.SPACES["humanoid"], 9))[4]


def test_a_trial_is_continued_and_judged_at_the_steps_of_its_rung(tmp_path):
    settings = {"algorithm": "es", "recipe": "smoke", "backend": "serial"}
    place = tmp_path / "trial"
    short = search.trained("point", place, 1, settings, 6_000, 1)
    which = search.after(short, 6_000)
    first = search.tested(short, which).returns
    assert short.metrics[-1]["env_steps"] >= 6_000
    longer = search.trained("point", place, 1, settings, 18_000, 1)
    assert longer.metrics[-1]["env_steps"] >= 18_000
    assert search.after(longer, 6_000) == which != search.after(longer, 18_000)
    np.testing.assert_array_equal(search.tested(longer, which).returns, first)
    assert len(search.trained("point", place, 1, settings, 12_000, 1).metrics) == len(
        longer.metrics
    )
