"""Groups against each other, two by two."""

import numpy as np
import pytest
import scipy.stats

from nses.experiment.analysis.comparison import compare
from pretended import make_run


def contest_of(tmp_path, **scores):
    """A comparison of algorithms whose runs ended with these scores, by seed."""
    runs = [
        make_run(tmp_path / name / str(seed), [score], algorithm=f"{name}-es",
                 seed=seed, retest=[score - 1])
        for name, by_seed in scores.items()
        for seed, score in by_seed.items()
    ]  # fmt: skip
    (contest,) = compare(runs)
    return contest


def test_runs_are_paired_by_their_seeds(tmp_path):
    nsr = {0: 1.0, 1: 5.0, 2: 9.0, 3: 20.0, 7: 100.0}
    ns = {3: 18.0, 2: 8.5, 1: 3.0, 0: 2.0, 9: -100.0}
    (pair,) = contest_of(tmp_path, ns=ns, nsr=nsr).pairs
    expected = scipy.stats.wilcoxon([ns[s] for s in range(4)], [nsr[s] for s in range(4)])
    assert (pair.seeds, pair.retest_seeds) == (4, 4)
    assert (pair.paired_w, pair.paired_p) == (expected.statistic, expected.pvalue)
    assert pair.paired_p_holm == pair.paired_p == pair.retest_paired_p
    assert pair.p == scipy.stats.mannwhitneyu(list(ns.values()), list(nsr.values())).pvalue


def test_without_a_common_seed_there_is_no_paired_test(tmp_path):
    (pair,) = contest_of(tmp_path, ns={0: 1.0, 1: 2.0}, nsr={2: 3.0, 3: 4.0}).pairs
    assert pair.seeds == 0
    assert np.isnan([pair.paired_w, pair.paired_p, pair.paired_p_holm]).all()
    assert np.isfinite(pair.p)


def test_paired_p_values_are_corrected_for_all_pairs(tmp_path):
    scores = {name: {s: float(i * s + i) for s in range(6)} for i, name in
              enumerate(("ns", "nsr", "nsra"), 1)}  # fmt: skip
    pairs = contest_of(tmp_path, **scores).pairs
    assert [pair.paired_p for pair in pairs] == [2 / 64] * 3
    assert [pair.paired_p_holm for pair in pairs] == pytest.approx([6 / 64] * 3)


def test_a_single_run_is_tested_against_nothing(tmp_path):
    several = {0: 1.0, 1: 2.0, 2: 3.0}
    assert contest_of(tmp_path / "a", ns={0: 1.0}, nsr={0: 2.0}).pairs == ()
    assert contest_of(tmp_path / "b", ns={0: 1.0}, nsr=several).pairs == ()
    contest = contest_of(tmp_path / "c", ns={0: 1.0}, nsr=several, nsra=several)
    assert [(pair.a, pair.b) for pair in contest.pairs] == [("nsr-es", "nsra-es")]
    assert "ns-es: only one run, so no interval and no test" in contest.notes
