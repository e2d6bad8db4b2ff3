import runpy
from pathlib import Path

import numpy as np
import pytest

import toy
from nses.core.algorithms import ALGORITHMS
from nses.core.seeding import Purpose, episode_seeds, generator

EXAMPLE = Path(__file__).parents[2] / "examples" / "nsra_in_100_lines.py"


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_package_agrees_with_the_100_lines(algorithm):
    oracle, T, M = runpy.run_path(str(EXAMPLE)), 40, 1 if algorithm == "es" else 3
    search = toy.make_search(algorithm, M=M, w=0.8, t_w=3, delta_w=0.2)
    h, seed = search.hyperparameters, search.seed

    def evaluate(thetas, t, members):
        if not members:
            return toy.episodes(list(thetas), episode_seeds(seed, t, 0, Purpose.EPISODE, h.n))
        results = [
            toy.episodes([theta] * h.E, episode_seeds(seed, t, m, Purpose.EVALUATION, h.E))
            for theta, m in zip(thetas, members, strict=True)
        ]
        return np.array([f.mean() for f, _ in results]), np.array([b.mean(0) for _, b in results])

    def draw(t):
        epsilon = search.perturb(start.members[0], t).epsilon
        rows = np.array([epsilon.row(i) for i in range(h.n // 2)], np.float64)
        return generator(seed, t, 0, Purpose.SELECTION).random(), rows

    start = search.init()
    by_hand = oracle["search"](
        oracle["OBJECTIVES"][algorithm],
        np.array([member.theta for member in start.members], np.float64),
        evaluate,
        map(draw, range(T)),
        **{name: getattr(h, name) for name in ("sigma", "lr", "l2", "k", "w", "t_w", "delta_w")},
    )
    weights, chosen = set(), set()
    for (theta, A, w, (score, best_theta)), (state, report) in zip(
        by_hand, search.run(start, generations=T), strict=True
    ):
        np.testing.assert_allclose([x.theta for x in state.members], theta, rtol=0, atol=2e-6)
        np.testing.assert_allclose(state.archive.rows, A, rtol=0, atol=2e-6)
        np.testing.assert_allclose(state.best.theta, best_theta, rtol=0, atol=2e-6)
        assert state.best.score == pytest.approx(score, abs=2e-6)
        if algorithm == "nsra-es":
            assert state.weights[0].w == w
        weights.add(w)
        chosen.add(report.member)
    assert len(chosen) == M
    assert len(weights) > 2


def test_the_oracle_has_100_lines_and_needs_numpy_only():
    text = EXAMPLE.read_text()
    assert len(text.splitlines()) <= 100
    imports = {line.split()[1] for line in text.splitlines() if line.startswith(("import", "from"))}
    assert imports == {"collections.abc", "numpy", "numpy.typing"}


def test_the_oracle_solves_its_deceptive_problem_where_es_does_not(capsys):
    runpy.run_path(str(EXAMPLE), run_name="__main__")
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(ALGORITHMS)
    assert ["past" in line for line in lines] == [False, True, True, True]
