"""Model cards: the numbers of the run, and snippets that run."""

import numpy as np
import pytest

from nses.experiment.export.model_card import interval, model_card
from nses.experiment.export.onnx import (
    export,
)
from nses.words import short

onnx = pytest.importorskip("onnx", reason="needs the extra onnx")


onnxruntime = pytest.importorskip("onnxruntime", reason="needs the extra onnx")


def test_the_card_has_the_numbers_of_the_run(run):
    text, best, retest = export(run).card.read_text(), run.best, np.array(run.retest)
    assert f"**{short(best.score)}**" in text
    assert f"generation {best.generation} (member {best.member})" in text
    assert f"**{retest.mean():.4g} ± {retest.std():.4g}**" in text
    low, high = interval(retest)
    assert f"(Student's t): {low:.4g} to {high:.4g}" in text
    assert "of 5 fresh episodes" in text
    state = run.state
    assert f"{state.episodes:,} episodes, {state.env_steps:,} environment steps" in text
    assert run.versions["numpy"] in text
    assert "not tested" in model_card(run, "final", 0.0, 1)


def test_the_snippets_of_the_card_run(run, monkeypatch):
    exported = export(run)
    monkeypatch.chdir(run.path)
    first, second = (
        part.split("```")[0] for part in exported.card.read_text().split("```python\n")[1:]
    )
    names = {}
    exec(second.replace('"RUN"', "'.'"), names)
    exec(first, names)
    np.testing.assert_allclose(names["action"][0], names["policy"](names["observation"]), atol=1e-5)


def test_the_interval_is_that_of_student():
    from scipy import stats

    x = np.random.default_rng(0).standard_normal(12)
    expected = stats.t.interval(0.95, 11, x.mean(), stats.sem(x))
    assert interval(x) == pytest.approx(expected)
    assert interval(x[:1]) is None
