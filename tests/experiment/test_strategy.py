"""Ask and tell."""

import numpy as np
import pytest

import nses
from nses.experiment import strategy as strategies
from nses.experiment.runs.checkpoint import save_alone


def hill(theta):
    """A deceptive slope: a hill at 1 before a higher one at 4."""
    x = float(np.mean(theta))
    return np.exp(-((x - 1) ** 2)) + 3 * np.exp(-((x - 4) ** 2)), np.array([x])


def play(strategy, generations, evaluate=hill):
    for _ in range(generations):
        results = [evaluate(theta) for theta in strategy.ask()]
        strategy.tell([f for f, _ in results], [b for _, b in results])
    return strategy


def make(algorithm="nsra-es", **changes):
    settings = {
        "n": 20,
        "sigma": 0.1,
        "lr": 0.05,
        "l2": 0.0,
        "k": 5,
        "weight_patience": 5,
        "seed": 1,
    } | changes
    return nses.Strategy(algorithm, np.zeros(8), **settings)


def test_the_first_ask_holds_all_members_and_then_the_one_just_updated():
    strategy = make(members=3)
    assert strategy.ask().shape == (3 + 20, 8)
    play(strategy, 1)
    rows = strategy.ask()
    assert rows.shape == (1 + 20, 8)
    assert any(np.array_equal(rows[0], member.theta) for member in strategy.members)


def test_candidates_are_mirrored_around_the_chosen_member():
    strategy = make()
    rows = strategy.ask()[5:]
    center = strategy.members[strategy.chosen].theta
    np.testing.assert_allclose(rows[0::2] - center, -(rows[1::2] - center), atol=1e-7)
    assert (rows - center).std() == pytest.approx(0.1, rel=0.2)


def moved(strategy):
    """How far a number of a member goes in the next generations, at most."""
    before = np.stack([member.theta for member in strategy.members])
    after = np.stack([member.theta for member in play(strategy, 5).members])
    return np.abs(after - before).max()


def test_perturbations_and_steps_halve_with_every_half_life():
    strategy = play(make(half_life=5), 10)
    rows = strategy.ask()[1:]
    theta = strategy.members[strategy.chosen].theta
    assert (rows - theta).std() == pytest.approx(0.1 / 4, rel=0.2)
    assert moved(play(make(half_life=5), 60)) < 0.05 / 2**10 < moved(play(make(), 60))


def test_members_may_take_turns():
    strategy = make(members=3, selection="round-robin")
    chosen = []
    for _ in range(4):
        strategy.ask()
        chosen.append(strategy.chosen)
        play(strategy, 1)
    assert chosen == [0, 1, 2, 0]


def test_asking_twice_gives_the_same_vectors():
    strategy = make()
    np.testing.assert_array_equal(strategy.ask(), strategy.ask())


def test_novelty_finds_the_higher_hill_where_es_stays_on_the_first():
    assert play(make("es"), 150).best.score == pytest.approx(1.0, abs=0.01)
    assert play(make("nsra-es", n=40), 250).best.score > 2.9


def test_one_behavior_is_archived_for_every_measured_member():
    strategy = play(make(members=4), 6)
    assert len(strategy.archive) == 4 + 5  # the sixth update is measured with the seventh ask
    assert strategy.generation == 6


def test_the_identities_of_the_algorithms_hold_bit_for_bit():
    for algorithm, w in (("ns-es", 0.0), ("nsr-es", 0.5)):
        a = play(make(algorithm), 20)
        b = play(make("nsra-es", weight=w, weight_step=0.0), 20)
        for x, y in zip(a.members, b.members, strict=True):
            np.testing.assert_array_equal(x.theta, y.theta)
    a, b = play(make("es"), 20), play(make("nsra-es", weight=1.0, weight_step=0.0, members=1), 20)
    np.testing.assert_array_equal(a.members[0].theta, b.members[0].theta)


def test_the_same_seed_gives_the_same_bits_and_another_seed_does_not():
    a, b, c = (play(make(seed=s), 10).best.theta for s in (3, 3, 4))
    np.testing.assert_array_equal(a, b)
    assert not np.array_equal(a, c)


def test_e1_a_candidate_without_a_return_is_left_out_together_with_its_twin():
    def broken(value):
        strategy = make("es")
        results = [hill(theta) for theta in strategy.ask()]
        f, b = np.array([r[0] for r in results]), np.array([r[1] for r in results])
        f[1] = np.nan
        f[2] = value  # the twin: whatever it returns must not matter
        strategy.tell(f, b)
        return strategy.members[0].theta

    np.testing.assert_array_equal(broken(-100.0), broken(100.0))


def told(algorithm, behavior):
    """The first member after a generation in which a candidate did that."""
    strategy = make(algorithm, members=1)
    results = [hill(theta) for theta in strategy.ask()]
    f, b = np.array([r[0] for r in results]), np.array([r[1] for r in results])
    b[1] = behavior
    strategy.tell(f, b)
    return strategy.members[0].theta.tobytes()


def test_es_looks_at_returns_alone():
    assert told("es", np.nan) == told("es", 0.5)
    assert told("ns-es", np.nan) != told("ns-es", 0.5)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n": 7}, "try n=8"),
        ({"n": 0}, "try n=2"),
        ({"sigma": 0.0}, "sigma must be greater than 0"),
        ({"k": 0}, "k must be at least 1"),
        ({"selection": "fresh"}, "plays new episodes"),
    ],
)
def test_e13_e9_wrong_numbers_are_refused_with_what_to_do(changes, message):
    with pytest.raises(ValueError, match=message):
        make(**changes)


def test_wrong_calls_are_refused_with_what_was_expected():
    with pytest.raises(ValueError, match="algorithm must be one of"):
        nses.Strategy("cma-es", np.zeros(2), n=4)
    with pytest.raises(ValueError, match="vector"):
        nses.Strategy("es", np.zeros((2, 2, 2)), n=4)
    with pytest.raises(ValueError, match="one per member"):
        nses.Strategy("nsr-es", np.zeros((2, 3)), n=4, members=5)
    with pytest.raises(ValueError, match="es trains a single policy, so members must be 1, got 2"):
        nses.Strategy("es", np.zeros((2, 3)), n=4)
    strategy = make("es")
    with pytest.raises(ValueError, match="must follow an ask"):
        strategy.tell([0.0], [[0.0]])
    strategy.ask()
    with pytest.raises(ValueError, match="each of the 21 vectors"):
        strategy.tell([0.0], [[0.0]])
    with pytest.raises(ValueError, match="need finite results"):
        strategy.tell(np.full(21, np.nan), np.zeros((21, 1)))


def test_l5_more_vectors_than_the_machine_holds_are_refused():
    with pytest.raises(ValueError, match=r"ask\(\) would return .* GB, .*; lower n"):
        nses.Strategy("es", np.zeros(10), n=1 << 40)


def traced(theta):
    """The same hill with a trace for a behavior."""
    return hill(theta)[0], np.full((3, 4), int(10 * abs(theta.mean())) % 256, np.uint8)


def bits(strategy):
    members = [
        (m.theta.tobytes(), m.optimizer.m.tobytes(), m.optimizer.t) for m in strategy.members
    ]
    best = (strategy.best.theta.tobytes(), strategy.best.score, strategy.best.generation)
    return members, best, strategy.weights, len(strategy.archive), strategy.generation


@pytest.mark.parametrize(
    ("settings", "evaluate"),
    [
        ({}, hill),
        ({"algorithm": "es"}, hill),
        ({"weight_per_member": True, "optimizer": "sgd", "members": 3}, hill),
        ({"distance": "ram"}, traced),
        ({"half_life": 3}, hill),
    ],
)
@pytest.mark.parametrize("before", [0, 6])
def test_a_stored_strategy_goes_on_exactly(tmp_path, settings, evaluate, before):
    whole, strategy = make(**settings), make(**settings)
    play(strategy, before, evaluate).save(tmp_path / "strategy.safetensors")
    again = nses.Strategy.load(tmp_path / "strategy.safetensors")
    assert bits(play(again, 5, evaluate)) == bits(play(whole, before + 5, evaluate))


def test_a_strategy_stored_between_ask_and_tell_takes_the_answer(tmp_path):
    whole, strategy = play(make(), 3), play(make(), 3)
    results = [hill(theta) for theta in strategy.ask()]
    strategy.save(tmp_path / "file")
    again = nses.Strategy.load(tmp_path / "file")
    again.tell([f for f, _ in results], [b for _, b in results])
    assert bits(again) == bits(play(whole, 1))


def test_a_damaged_or_foreign_file_is_refused_by_name(tmp_path):
    file = tmp_path / "file"
    play(make(), 2).save(file)
    content = bytearray(file.read_bytes())
    content[-3] ^= 1
    file.write_bytes(content)
    with pytest.raises(nses.errors.CheckpointRefused, match="file was refused"):
        nses.Strategy.load(file)
    with pytest.raises(nses.errors.CheckpointRefused, match="cannot be read"):
        nses.Strategy.load(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("config", "{}"),
        ("config", "["),
        ("pending", '{"unmeasured": [9], "chosen": 0}'),
        ("pending", '{"unmeasured": [0], "chosen": 7}'),
        ("pending", "{}"),
    ],
)
def test_a_file_that_somebody_has_made_up_is_refused(tmp_path, monkeypatch, name, value):
    def forged(path, kind, scalars, tensors, texts):
        save_alone(path, kind, scalars, tensors, texts | {name: value})

    monkeypatch.setattr(strategies, "save_alone", forged)
    make().save(tmp_path / "file")
    with pytest.raises(nses.errors.CheckpointRefused, match="is not a stored strategy"):
        nses.Strategy.load(tmp_path / "file")


def test_its_repr_is_short():
    assert repr(make()) == "<nsra-es strategy: generation 0, 5 × 8 parameters, best -inf>"
