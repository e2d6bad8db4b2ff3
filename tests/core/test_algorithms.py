from dataclasses import replace

import numpy as np
import pytest

import toy
from nses.core import algorithms, moments, optimizers
from nses.core.algorithms import (
    ALGORITHMS,
    Hyperparameters,
    NotFinite,
    ascend,
    objective,
)
from nses.core.archive import empty
from nses.core.novelty import novelty
from nses.core.ranks import centered_ranks
from nses.core.seeding import Purpose, assessment_seeds, episode_seeds, generator
from nses.core.values import Member, Start
from pseudo_code import as_in_the_paper


@pytest.mark.parametrize(
    ("special", "w", "M"), [("ns-es", 0.0, 3), ("nsr-es", 0.5, 3), ("es", 1.0, 1)]
)
def test_nsra_es_with_a_fixed_weight_is_each_of_the_others_bit_for_bit(special, w, M):
    fixed = toy.after(toy.make_search("nsra-es", w=w, delta_w=0.0, M=M), 12)
    other = toy.after(toy.make_search(special, M=M), 12)
    assert toy.learned(fixed) == toy.learned(other)
    assert fixed.best.score == other.best.score


def test_the_four_algorithms_differ():
    learned = {str(toy.learned(toy.after(toy.make_search(a, w=0.7), 3))) for a in ALGORITHMS}
    assert len(learned) == 4


def test_the_rows_of_the_table_are_those_of_the_paper():
    rows = {name: (row.w, row.population, row.novelty) for name, row in ALGORITHMS.items()}
    assert rows == {
        "es": (1.0, False, False),
        "ns-es": (0.0, True, True),
        "nsr-es": (0.5, True, True),
        "nsra-es": (None, True, True),
    }


def test_golden_search():
    # These numbers change only with a line in the CHANGELOG.
    state = toy.after(toy.make_search("nsra-es", w=0.5, t_w=2, delta_w=0.1), 10)
    theta = [0.24821872, -0.34951517, 0.31925219, -0.00686671, -0.61584383, -0.14620391]
    np.testing.assert_allclose(state.members[0].theta, theta, rtol=1e-5)
    np.testing.assert_allclose(state.archive.rows[-1], [0.52965759, -0.12018764], rtol=1e-5)
    assert state.best.score == pytest.approx(0.41573228, rel=1e-5)
    assert state.weights[0].w == pytest.approx(0.7)


def test_es_measures_no_novelty():
    sizes: dict[str, set[int]] = {}
    for name in ("es", "nsr-es"):
        seen = sizes.setdefault(name, set())
        search = toy.make_search(name, M=1, see=lambda c, A, seen=seen: seen.add(len(A)))
        state, report = list(search.run(generations=3))[-1]
        assert len(state.archive) == 4
        assert np.isnan(report.novelty_mean) == (name == "es")
        assert report.selection == (1.0,)
    assert sizes == {"es": {0}, "nsr-es": {0, 1, 2, 3}}


def test_es_learns_where_no_behavior_is_finite():
    search = toy.make_search("es", M=1)

    def blind(candidates, archive):
        e = search.evaluate(candidates, archive)
        return e if e.b is None else replace(e, b=np.full_like(e.b, np.nan))

    state, seen = toy.after(replace(search, evaluate=blind), 3), toy.after(search, 3)
    assert state.members[0].theta.tobytes() == seen.members[0].theta.tobytes()
    assert np.isnan(state.archive.rows).all()


def test_the_behavior_of_es_is_the_mean_of_those_that_are_finite():
    search = toy.make_search("es", M=1, E=3)

    seen = []

    def partly(candidates, archive):
        e = search.evaluate(candidates, archive)
        if e.b is not None:
            seen.append(e.b)
            e.b[1] = np.nan
        return e

    state = toy.after(replace(search, evaluate=partly), 1)
    np.testing.assert_array_equal(state.archive.rows[0], seen[0][[0, 2]].mean(axis=0))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_step_is_pure(algorithm):
    search = toy.make_search(algorithm)
    state = toy.after(search, 3)
    before = toy.everything(state)
    (first, one), (second, two) = search.step(state), search.step(state)
    assert toy.everything(first) == toy.everything(second)
    assert one == two
    assert toy.everything(state) == before


def test_a_run_can_be_continued_from_any_state():
    search = toy.make_search("nsra-es", moments_probability=0.5)
    *_, (resumed, _) = search.run(toy.after(search, 4), generations=9)
    assert toy.everything(resumed) == toy.everything(toy.after(search, 9))


def test_e8_selection_from_an_empty_archive_is_uniform():
    search = toy.make_search("ns-es")
    state = search.init()
    _, report = search.step(replace(state, archive=empty(toy.DIMENSIONS)))
    np.testing.assert_array_equal(report.selection, np.full(3, 1 / 3))


def test_e9_k_may_be_larger_than_the_archive():
    whole = toy.after(toy.make_search("ns-es", k=100), 5)
    assert toy.learned(whole) == toy.learned(toy.after(toy.make_search("ns-es", k=8), 5))


def test_novelty_of_the_members_is_against_the_archive_of_the_day():
    search = toy.make_search("nsr-es")
    h, state = search.hyperparameters, toy.after(search, 6)
    b = np.array([member.behavior for member in state.members])
    N = novelty(b, state.archive, h.k, h.distance)
    np.testing.assert_array_equal(search.step(state)[1].selection, N / N.sum())


def test_two_members_are_chosen_between():
    _, report = next(toy.make_search("nsr-es", M=2).run())
    assert len(report.selection) == 2


def test_fresh_selection_looks_at_new_episodes_of_every_member():
    search = toy.make_search("nsr-es", selection="fresh")
    h, state = search.hyperparameters, toy.after(search, 6)
    b = []
    for m, member in enumerate(state.members):
        seeds = episode_seeds(search.seed, 6, m, Purpose.FRESH_BEHAVIOR, h.E)
        b.append(toy.episodes([member.theta] * h.E, seeds)[1].mean(axis=0))
    N = novelty(np.array(b), state.archive, h.k, h.distance)
    after, report = search.step(state)
    np.testing.assert_array_equal(report.selection, N / N.sum())
    assert after.episodes - state.episodes == h.M * h.E + h.n + h.E


def test_members_may_be_updated_in_turn():
    search = toy.make_search("nsr-es", selection="round-robin")
    reports = [report for _, report in search.run(generations=7)]
    assert [report.member for report in reports] == [0, 1, 2, 0, 1, 2, 0]
    assert reports[1].selection == (0.0, 1.0, 0.0)


def test_members_may_be_updated_by_chance_alone():
    search = toy.make_search("nsr-es", selection="uniform")
    reports = [report for _, report in search.run(generations=30)]
    assert {report.member for report in reports} == {0, 1, 2}
    assert {report.selection for report in reports} == {(1 / 3, 1 / 3, 1 / 3)}


def uneven(seeds):
    """Lengths of episodes, from 1 to 9 steps, that depend on their seed alone."""
    return seeds % 9 + 1


def test_candidates_are_added_by_index_until_they_have_made_the_steps_of_a_generation():
    search = toy.make_search("nsr-es", lengths_of=uneven, steps_per_generation=200)
    before = search.init()
    for state, report in search.run(before, generations=5):
        seeds = episode_seeds(search.seed, report.generation - 1, 0, Purpose.EPISODE, 200)
        steps = uneven(seeds).reshape(-1, 2).sum(axis=1).cumsum()
        n = 2 * (np.searchsorted(steps, 200) + 1)
        e = report.evaluation
        assert n > search.hyperparameters.n
        assert e.f.shape == e.N.shape == e.lengths.shape == (n,)
        assert e.lengths[:-2].sum() < 200 <= e.lengths.sum()
        parent = search.perturb(before.members[report.member], report.generation - 1, n)
        f, b = toy.episodes(toy.thetas_of(parent), seeds[:n])
        np.testing.assert_array_equal(e.f, f)
        np.testing.assert_array_equal(e.N, novelty(b, before.archive, 4, "squared-euclidean"))
        assert state.episodes - before.episodes == n + search.hyperparameters.E
        before = state


def test_it_does_not_matter_how_many_candidates_are_asked_for_at_a_time(monkeypatch):
    def learned():
        settings = {"lengths_of": uneven, "steps_per_generation": 300, "moments_probability": 0.0}
        return toy.everything(toy.after(toy.make_search("nsra-es", **settings), 4))

    usual = learned()
    monkeypatch.setattr(algorithms, "likely", lambda lengths, missing: 2)
    assert learned() == usual


def test_steps_that_n_candidates_make_anyway_change_nothing():
    plain = toy.after(toy.make_search("nsra-es"), 3)
    same = toy.after(toy.make_search("nsra-es", steps_per_generation=16 * toy.LENGTH), 3)
    assert toy.everything(same) == toy.everything(plain)


def test_candidates_are_ranked_without_the_shift_of_each_step_and_scored_with_it():
    plain, shifted = (
        toy.make_search("es", M=1, lengths_of=uneven, shift=shift) for shift in (0.0, 0.5)
    )
    state = plain.init()
    after, report = shifted.step(state)
    e, h = report.evaluation, shifted.hyperparameters
    candidates = shifted.perturb(state.members[0], 0)
    rest = e.f - 0.5 * e.lengths
    g = candidates.epsilon.weighted_sum(centered_ranks(rest)) / (h.n * h.sigma)
    expected = algorithms.ascend(state.members[0], g, h).theta
    assert after.members[0].theta.tobytes() == expected.tobytes()
    assert report.training_mean == pytest.approx(rest.mean())

    other, usual = plain.step(state)
    assert other.members[0].theta.tobytes() != expected.tobytes()
    assert usual.training_mean is None
    assert report.return_mean == usual.return_mean == pytest.approx(e.f.mean())
    seeds = assessment_seeds(toy.SEED, 1, 0, Purpose.EVALUATION, h.E, ())
    f, _ = toy.episodes([expected] * h.E, seeds)
    assert report.score == pytest.approx(f.mean())  # nothing is taken from it


def test_the_gradient_of_more_candidates_is_divided_by_their_number():
    search = toy.make_search("es", M=1, steps_per_generation=400)
    state = search.init()
    _, report = search.step(state)
    e, h = report.evaluation, search.hyperparameters
    assert len(e.f) == 40
    epsilon = search.perturb(state.members[0], 0, 40).epsilon
    g = epsilon.weighted_sum(centered_ranks(e.f)) / (40 * h.sigma)
    assert report.gradient_norm == pytest.approx(np.linalg.norm(g))


def test_the_first_candidates_do_not_depend_on_how_many_there_are():
    search = toy.make_search("es", moments_probability=0.5)
    member = search.init().members[0]
    few, many = search.perturb(member, 3), search.perturb(member, 3, 1000)
    np.testing.assert_array_equal(few.seeds, many.seeds[:16])
    np.testing.assert_array_equal(few.contributes, many.contributes[:16])
    np.testing.assert_array_equal(few.epsilon.offsets, many.epsilon.offsets[:8])


@pytest.mark.parametrize(("episodes", "played"), [(1, 4), (3, 4), (4, 4), (7, 7)])
def test_a_behavior_may_be_the_mean_of_another_number_of_episodes(episodes, played):
    search = toy.make_search("ns-es", E=4, behavior_episodes=episodes)
    state, report = search.step(search.init())
    member = state.members[report.member]
    seeds = episode_seeds(search.seed, 1, report.member, Purpose.EVALUATION, played)
    f, b = toy.episodes([member.theta] * played, seeds)
    np.testing.assert_array_equal(member.behavior, b[:episodes].mean(axis=0))
    assert report.score == f[:4].mean()
    assert state.episodes == (1 + search.hyperparameters.M) * played + 16


def test_fresh_selection_plays_the_episodes_of_a_behavior():
    search = toy.make_search("ns-es", E=4, behavior_episodes=1, selection="fresh")
    state = search.init()
    assert search.step(state)[0].episodes - state.episodes == 3 * 1 + 16 + 4


def test_a_behavior_leaves_out_episodes_that_failed():
    search = toy.make_search("ns-es", E=3, behavior_episodes=1)
    evaluate = search.evaluate

    def first_fails(candidates, archive):
        e = evaluate(candidates, archive)
        if candidates.epsilon is None:
            e.f[0] = np.nan
        return e

    state, report = replace(search, evaluate=first_fails).step(search.init())
    member = state.members[report.member]
    seeds = episode_seeds(search.seed, 1, report.member, Purpose.EVALUATION, 3)
    f, b = toy.episodes([member.theta] * 3, seeds)
    np.testing.assert_array_equal(member.behavior, b[1])
    assert report.score == f[1:].mean()


def test_only_the_selected_member_changes():
    search = toy.make_search("nsra-es", moments_probability=1.0)
    state = search.init()
    for after, report in search.run(state, generations=8):
        for m, (was, member) in enumerate(zip(state.members, after.members, strict=True)):
            assert (was is member) == (m != report.member)
        state = after


def test_the_archive_opens_with_the_members_and_grows_by_the_updated_one():
    search = toy.make_search("nsra-es")
    start = search.init()
    np.testing.assert_array_equal(start.archive.rows, [m.behavior for m in start.members])
    for state, report in search.run(start, generations=8):
        assert len(state.archive) == report.archive_size == 3 + report.generation
        np.testing.assert_array_equal(state.archive.rows[-1], state.members[report.member].behavior)
        np.testing.assert_array_equal(state.archive.rows[-1], report.behavior)


def test_candidates_and_new_theta_meet_the_archive_of_the_beginning_of_their_generation():
    calls = []
    search = toy.make_search("ns-es", see=lambda c, A: calls.append((c, len(A))))
    state = toy.after(search, 2)
    sizes = [size for _, size in calls]
    assert sizes == [0, 0, 0, 3, 3, 4, 4]
    assert [c.epsilon is not None for c, _ in calls] == [False] * 3 + [True, False] * 2
    assert any(calls[-1][0].theta is member.theta for member in state.members)


def test_a_newborn_has_no_behavior_yet():
    assert toy.make_search("ns-es").newborn(0).behavior.size == 0


def test_members_may_start_near_a_given_policy_and_the_first_at_it():
    search = toy.make_search("ns-es", sigma=0.01)
    given = toy.after(search, 2).members[0]
    begun = replace(search, start=Start(given.theta, given.moments), seed=9)
    members = [begun.newborn(j) for j in range(3)]
    assert members[0].theta.tobytes() == given.theta.tobytes()
    for j in (1, 2):
        z = generator(9, 0, j, Purpose.POLICY_INIT).standard_normal(toy.D, np.float32)
        np.testing.assert_allclose(members[j].theta, given.theta + 0.01 * z, rtol=1e-6)
    assert all(member.moments is given.moments for member in members)


def test_members_start_differently():
    thetas = {member.theta.tobytes() for member in toy.make_search("ns-es", M=5).init().members}
    assert len(thetas) == 5


def test_a_step_is_the_update_of_section_2_1():
    search = toy.make_search("nsra-es", w=0.3)
    state = search.init()
    after, report = search.step(state)
    member, h = state.members[report.member], search.hyperparameters
    candidates = search.perturb(member, 0)
    e = search.evaluate(candidates, state.archive)
    F = 0.3 * centered_ranks(e.f) + 0.7 * centered_ranks(e.N)
    epsilon = np.array([(-1) ** i * candidates.epsilon.row(i // 2) for i in range(h.n)], np.float64)
    g = sum(F[i] * epsilon[i] for i in range(h.n)) / (h.n * h.sigma)
    expected, _ = optimizers.adam(
        member.theta, g - h.l2 / h.sigma * member.theta, member.optimizer, h.lr
    )
    np.testing.assert_allclose(after.members[report.member].theta, expected, atol=1e-6)
    assert report.gradient_norm == pytest.approx(np.linalg.norm(g))


def test_perturbations_and_steps_halve_with_every_half_life():
    sigmas = []
    search = toy.make_search(
        "es", M=1, l2=0.1, half_life=2, see=lambda candidates, archive: sigmas.append(candidates)
    )
    state = replace(search.init(), generation=4)
    sigmas.clear()
    after, _ = search.step(state)
    assert [x.sigma for x in sigmas if x.epsilon is not None] == [0.1 / 4]
    quarter = toy.make_search("es", M=1, l2=0.1, sigma=0.1 / 4, lr=0.05 / 4)
    assert toy.learned(after) == toy.learned(quarter.step(state)[0])


def test_perturbations_and_steps_never_come_to_nothing():
    h = toy.make_search("es", half_life=1).hyperparameters
    assert 0 < h.after(10**9).sigma == h.after(20).sigma < h.after(19).sigma
    assert h.after(10**9).lr > 0
    assert replace(h, half_life=0).after(10**9) == replace(h, half_life=0)


def test_the_best_policy_is_the_highest_score_of_all_generations_and_members():
    search = toy.make_search("nsr-es")
    start = search.init()
    seen = [(start.best.score, start.best.theta, 0)]
    for state, report in search.run(start, generations=15):
        seen.append((report.score, state.members[report.member].theta, report.generation))
        score, theta, generation = max(seen, key=lambda x: x[0])
        assert state.best.score == report.best == score
        assert state.best.generation == generation
        np.testing.assert_array_equal(state.best.theta, theta)
    assert state.best.generation > 0


def test_the_first_of_equally_good_policies_stays_the_best():
    search = toy.make_search("ns-es")

    def indifferent(candidates, A):
        return replace(search.evaluate(candidates, A), f=np.zeros(len(candidates)))

    state = toy.after(replace(search, evaluate=indifferent), 3)
    assert (state.best.generation, state.best.member) == (0, 0)


def test_the_score_is_the_mean_over_the_evaluation_episodes_of_the_new_theta():
    search = toy.make_search("nsr-es", E=5)
    state, report = search.step(search.init())
    seeds = episode_seeds(search.seed, 1, report.member, Purpose.EVALUATION, 5)
    f, b = toy.episodes([state.members[report.member].theta] * 5, seeds)
    assert report.score == f.mean()
    np.testing.assert_array_equal(report.behavior, b.mean(axis=0))


def test_the_winner_is_tested_again_on_fresh_episodes():
    search = toy.make_search("nsr-es")
    best = toy.after(search, 5).best
    f, _ = toy.episodes([best.theta] * 30, episode_seeds(search.seed, 0, 0, Purpose.RETEST, 30))
    np.testing.assert_array_equal(search.retest(best, 30).f, f)


def test_every_start_is_played_once_where_there_are_episodes_enough():
    search = toy.make_search("nsr-es")
    E = search.hyperparameters.E
    few = replace(search, starts=tuple(range(100, 100 + E)))
    orders = [
        assessment_seeds(few.seed, t, m, Purpose.EVALUATION, E, few.starts).tolist()
        for t, m in ((1, 0), (2, 0))
    ]
    assert orders[0] != orders[1]  # so that b, where it is of the first, is of any start
    assert [sorted(order) for order in orders] == [list(few.starts)] * 2
    best = toy.after(few, 3).best
    f, _ = toy.episodes([best.theta] * E, np.array(few.starts))
    np.testing.assert_array_equal(few.retest(best, E + 5).f, f)
    assert best.score == pytest.approx(f.mean(), rel=1e-14)
    many = replace(search, starts=tuple(range(E + 1)))
    assert toy.after(many, 3).best.score == toy.after(search, 3).best.score


def test_moments_of_contributing_candidates_go_to_their_member():
    search = toy.make_search("es", M=1, moments_probability=0.5)
    state = search.init()
    candidates = search.perturb(state.members[0], 0)
    seen = search.evaluate(candidates, state.archive).moments
    assert 0 < seen.count == candidates.contributes.sum() < search.hyperparameters.n
    after, _ = search.step(state)
    expected = moments.initial(toy.DIMENSIONS).merge(seen)
    np.testing.assert_array_equal(after.members[0].moments.sum, expected.sum)
    assert after.members[0].moments.count == expected.count


def test_which_candidates_contribute_moments_follows_from_the_seed():
    search = toy.make_search("es", M=1, moments_probability=0.2)
    assert np.flatnonzero(search.perturb(search.newborn(0), 3).contributes).tolist() == [4, 7]


def test_a_candidate_contributes_moments_if_its_draw_is_below_the_probability():
    draws = generator(toy.SEED, 3, 0, Purpose.MOMENTS).random(16)
    search = toy.make_search("es", M=1, moments_probability=draws[5])
    contributes = search.perturb(search.newborn(0), 3).contributes
    np.testing.assert_array_equal(contributes, draws < draws[5])


def test_one_thread_sums_the_gradient_unless_more_are_asked_for():
    asked = []

    def watched(epsilon, F, threads):
        asked.append(threads)
        return epsilon.weighted_sum(F)

    search = replace(toy.make_search("es", M=1), weighted_sum=watched)
    state = search.init()
    search.step(state)
    replace(search, threads=3).step(state)
    assert asked == [1, 3]


def test_the_report_counts_every_episode():
    search = toy.make_search("nsra-es")
    h = search.hyperparameters
    assert len(search.init().weights) == 1
    for state, report in search.run(generations=4):
        f = report.evaluation.f
        assert (report.return_mean, report.return_best) == (f.mean(), f.max())
        assert report.episodes == state.episodes == h.M * h.E + state.generation * (h.n + h.E)
        assert report.env_steps == state.env_steps == toy.LENGTH * report.episodes
        assert report.member == state.updated
        assert report.failed == 0


def test_the_weight_of_a_run_moves_as_in_the_pseudo_code_of_the_paper():
    search = toy.make_search("nsra-es", w=0.7, t_w=2, delta_w=0.1)
    run = list(search.run(generations=40))
    expected = as_in_the_paper([report.score for _, report in run], 0.7, 2, 0.1)
    assert [state.weights[0].w for state, _ in run] == expected
    assert [report.weight for _, report in run] == [0.7, *expected[:-1]]
    assert len(set(expected)) > 3


def test_with_a_weight_per_member_each_follows_its_own_scores():
    search = toy.make_search("nsra-es", w=0.7, t_w=2, delta_w=0.1, weight_per_member=True)
    run = list(search.run(generations=60))
    for m, weight in enumerate(run[-1][0].weights):
        scores = [report.score for _, report in run if report.member == m]
        assert weight.w == as_in_the_paper(scores, 0.7, 2, 0.1)[-1]
    assert len(run[-1][0].weights) == 3


def test_gains_below_min_gain_leave_a_run_dissatisfied():
    settings = {"w": 0.5, "t_w": 1, "delta_w": 0.05}
    easy = toy.after(toy.make_search("nsra-es", **settings), 10)
    hard = toy.after(toy.make_search("nsra-es", min_gain=100.0, **settings), 10)
    assert hard.weights[0].w == pytest.approx(0.5 + 0.05 - 9 * 0.05)
    assert easy.weights[0].w > hard.weights[0].w


def test_sgd_is_an_option():
    search = toy.make_search("es", M=1, optimizer="sgd", l2=0.0)
    state = search.init()
    after, report = search.step(state)
    moved = np.linalg.norm(after.members[0].theta - state.members[0].theta)
    assert moved == pytest.approx(0.1 * search.hyperparameters.lr * report.gradient_norm, rel=1e-4)


def test_the_plain_euclidean_distance_is_an_option():
    squared, plain = (
        toy.after(toy.make_search("ns-es", distance=d), 5)
        for d in ("squared-euclidean", "euclidean")
    )
    assert toy.learned(squared) != toy.learned(plain)


def test_ordinal_ranks_follow_the_order_of_candidates_where_returns_are_equal():
    settings = {"M": 1, "l2": 0.0, "change_returns": np.zeros_like}
    search = toy.make_search("es", ordinal_ranks=True, **settings)
    state = search.init()
    candidates = search.perturb(state.members[0], 0)
    g = candidates.epsilon.weighted_sum(np.arange(16) / 15 - 0.5) / (16 * 0.1)
    _, report = search.step(state)
    assert report.gradient_norm == pytest.approx(np.linalg.norm(g))
    assert report.gradient_norm > 0


def spoil(f):
    """Two candidates of different pairs fail, and they would be the best and the worst."""
    f = f.copy()
    f[3], f[8] = np.nan, np.inf
    return f


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_e1_both_of_a_pair_with_a_return_that_is_not_finite_have_weight_zero(algorithm):
    row = ALGORITHMS[algorithm]
    f, N = generator(0, 0, 0, Purpose.EPISODE).standard_normal((2, 16))
    F = objective(row, spoil(f), N, 0.7, ordinal=False)
    failed = [2, 3, 8, 9]
    assert not F[failed].any()
    others = np.delete(np.arange(16), failed)
    expected = objective(row, f[others], N[others], 0.7, ordinal=False)
    np.testing.assert_array_equal(F[others], expected)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_e1_both_of_a_pair_with_a_novelty_that_is_not_finite_have_weight_zero(bad):
    f, N = generator(0, 0, 0, Purpose.EPISODE).standard_normal((2, 6))
    N[1] = bad
    F = objective(ALGORITHMS["nsr-es"], f, N, 0.5, ordinal=False)
    assert F[:2].tolist() == [0, 0]
    assert np.isfinite(F).all()
    assert F[2:].any()


def test_e1_a_generation_with_failures_learns_from_the_other_candidates():
    search = toy.make_search("nsr-es", change_returns=spoil)
    state = search.init()
    after, report = search.step(state)
    member, h = state.members[report.member], search.hyperparameters
    candidates = search.perturb(member, 0)
    e = search.evaluate(candidates, state.archive)
    others = np.delete(np.arange(16), [2, 3, 8, 9])
    F = np.zeros(16)
    F[others] = (centered_ranks(e.f[others]) + centered_ranks(e.N[others])) / 2
    expected = ascend(member, candidates.epsilon.weighted_sum(F) / (h.n * h.sigma), h)
    np.testing.assert_array_equal(after.members[report.member].theta, expected.theta)
    assert report.failed == 2
    assert np.isfinite([report.return_mean, report.return_best, report.novelty_mean]).all()


def test_the_defaults_are_those_of_the_paper():
    """Sec. 4 and the SI; options that the paper does not have are off."""
    h = Hyperparameters(n=10_000)
    assert (h.sigma, h.lr, h.l2, h.M, h.k, h.E) == (0.02, 0.01, 0.005, 5, 10, 30)
    assert (h.w, h.t_w, h.delta_w, h.min_gain, h.weight_per_member) == (1.0, 50, 0.05, 0.0, False)
    assert (h.ordinal_ranks, h.selection, h.optimizer) == (False, "novelty", "adam")
    assert (h.behavior_episodes, h.steps_per_generation, h.shift) == (None, 0, 0.0)
    assert (h.distance, h.moments_probability) == ("squared-euclidean", 0.01)


def member_at(theta):
    theta = np.asarray(theta, np.float32)
    return Member(theta, optimizers.initial(theta.size), moments.initial(1), np.zeros(2))


NOT_FINITE = [(name, x) for name in optimizers.OPTIMIZERS for x in (np.nan, np.inf, -np.inf)]


@pytest.mark.parametrize(("optimizer", "bad"), [*NOT_FINITE, ("adam", 1e300), ("sgd", 1e300)])
def test_e2_an_update_that_is_not_finite_is_refused(optimizer, bad):
    h = Hyperparameters(n=2, optimizer=optimizer)
    with pytest.raises(NotFinite, match="not applied"):
        ascend(member_at([0.0, 1.0]), np.array([1.0, bad]), h)


def test_e2_a_step_that_is_not_finite_leaves_the_state_as_it_was():
    search = toy.make_search("nsra-es", lr=1e39)
    state = search.init()
    before = toy.everything(state)
    with pytest.raises(NotFinite):
        search.step(state)
    assert toy.everything(state) == before


@pytest.mark.parametrize("constant", [0.0, 0.1, -1e300])
def test_e12_all_equal_returns_give_a_gradient_of_exactly_zero(constant):
    search = toy.make_search("es", M=1, l2=0.0, change_returns=lambda f: np.full_like(f, constant))
    state = search.init()
    after, report = search.step(state)
    assert report.gradient_norm == 0
    assert after.members[0].theta.tobytes() == state.members[0].theta.tobytes()


def test_e19_returns_may_be_huge():
    huge = toy.make_search("nsr-es", change_returns=lambda f: f * 1e300)
    assert toy.learned(toy.after(huge, 5)) == toy.learned(toy.after(toy.make_search("nsr-es"), 5))


def test_states_members_and_the_best_policy_show_themselves_in_a_short_line():
    state = toy.after(toy.make_search("nsra-es"), 4)
    best = f"<score {state.best.score:g}, generation {state.best.generation}, member "
    assert repr(state.best) == f"{best}{state.best.member}>"
    held = f"3 members, 7 behaviors, best {state.best}"
    assert repr(state) == f"<state after 4 generations: {held}>"
    updates = [member.optimizer.t for member in state.members]
    shown = [f"<member of 6 parameters after {t} updates>" for t in updates]
    assert [repr(member) for member in state.members] == shown
