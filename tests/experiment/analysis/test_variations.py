"""Groups of runs in variations of their task."""

from nses.experiment.analysis.comparison import compare
from nses.experiment.analysis.stories import find_runs
from nses.experiment.analysis.variations import varied
from pretended import make_run


def test_a_group_has_the_median_of_its_runs_in_each_variation(tmp_path):
    for algorithm, level in (("es", 0.0), ("ns-es", 10.0)):
        for seed in range(3):
            variations = {"sticky": [level, level + 2 * seed], "later": [level - 1]}
            settings = {"algorithm": algorithm, "seed": seed, "variations": variations}
            make_run(tmp_path / algorithm / str(seed), [5.0], retest=[5.0], **settings)
    make_run(tmp_path / "old", [9.0], seed=7, retest=[5.0])  # which was not tested so
    make_run(tmp_path / "going", [9.0], seed=8, generations=5)
    (contest,) = compare(find_runs([tmp_path]))
    rows = varied(contest)
    assert [(r.variation, r.label, r.runs, r.median) for r in rows] == [
        ("sticky", "es", 3, 1.0), ("sticky", "ns-es", 3, 11.0),
        ("later", "es", 3, -1.0), ("later", "ns-es", 3, 9.0),
    ]  # fmt: skip
    assert (rows[0].low, rows[0].high) == (0.0, 2.0)


def test_an_episode_that_failed_does_not_count(tmp_path):
    make_run(tmp_path / "a", [5.0], retest=[5.0], variations={"sticky": [float("nan"), 4.0]})
    make_run(tmp_path / "b", [5.0], seed=1, retest=[5.0], variations={"sticky": [float("nan")]})
    (contest,) = compare(find_runs([tmp_path]))
    assert [(r.runs, r.median) for r in varied(contest)] == [(1, 4.0)]
