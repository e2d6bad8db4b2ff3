"""Atari games as tasks: names, behaviors, the player, and random play."""

import subprocess
import sys

import numpy as np
import pytest

from nses.core.moments import initial
from nses.rollouts.behaviors import parse_behavior
from nses.rollouts.conformance import check_task
from nses.rollouts.episode import GymnasiumPlayer, player
from nses.rollouts.tasks.catalog import PAPER_GAMES, make_task

ale_py = pytest.importorskip("ale_py")
atari = pytest.importorskip("nses.rollouts.tasks.atari")

PIXELS = 84 * 84 * 4


class Eye:
    """A stand-in for the network of the paper: looks at 5 × 5 pixels of each frame."""

    observation_size, moments_size = PIXELS, 0

    def __init__(self, actions):
        self.actions, self.size = actions, actions * 100

    def init(self, rng):
        return rng.standard_normal(self.size, np.float32)

    def bind_frames(self, theta):
        W = theta.reshape(self.actions, 100)

        def act(frames):
            assert frames.shape == (4, 84, 84)
            assert frames.dtype == np.uint8
            assert frames.flags.c_contiguous
            seen = frames[:, 10::16, 10::16].astype(np.float32).reshape(100)
            return (W * (seen - seen.mean())).sum(axis=1)

        return act

    def bind(self, theta, moments):
        act = self.bind_frames(theta)
        return lambda flat: act(
            np.ascontiguousarray(flat.reshape(84, 84, 4).transpose(2, 0, 1)).astype(np.uint8)
        )


def both_ways(task, policy, seeds, **asked):
    direct, stepped = player(task, policy), GymnasiumPlayer(task, policy)
    assert isinstance(direct, atari.AtariPlayer)
    for seed in seeds:
        theta = policy.init(np.random.default_rng(seed))
        yield [p.play(theta, initial(PIXELS), seed, **asked) for p in (direct, stepped)]


def assert_same_episode(ours, theirs):
    assert (ours.f, ours.length, ours.observed) == (theirs.f, theirs.length, theirs.observed)
    assert ours.behavior.dtype == theirs.behavior.dtype
    np.testing.assert_array_equal(ours.behavior, theirs.behavior)


@pytest.mark.parametrize("behavior", ["ram", "ram-final", "ram-mean"])
def test_the_player_plays_the_episodes_of_the_environment(behavior):
    task = make_task("atari:frostbite", behavior, max_steps=50, noops=20)
    for ours, theirs in both_ways(task, Eye(18), range(2), action_noise=0.01):
        assert_same_episode(ours, theirs)
        assert ours.length == 50


def test_the_player_plays_the_variations_of_the_environment():
    task = make_task("atari:freeway", max_steps=30)
    assert [*task.variations] == ["sticky actions 0.25", "no-ops 31-60"]
    for variation in task.variations.values():
        assert (variation.step_limit, variation.variations) == (30, {})
        for ours, theirs in both_ways(variation, Eye(3), [1]):
            assert_same_episode(ours, theirs)


def test_a_game_has_as_many_episodes_as_noops_unless_actions_stick():
    task = make_task("atari:freeway", max_steps=3)
    sticky, later = task.variations.values()
    assert (len(task.starts), sticky.starts, len(later.starts)) == (30, (), 30)
    policy = Eye(3)
    theta, played = policy.init(np.random.default_rng(0)), player(task, policy)

    def episodes(seeds):
        return {played.play(theta, initial(PIXELS), seed).behavior.tobytes() for seed in seeds}

    assert len(episodes(task.starts)) == 30
    assert episodes(task.starts) == episodes(range(200))
    assert make_task("atari:freeway", noops=1).starts == (0,)


def test_e15_traces_are_as_long_as_their_episodes():
    task, lengths = make_task("atari:frostbite", max_steps=300), []
    for ours, theirs in both_ways(task, Eye(18), (1, 2)):
        assert_same_episode(ours, theirs)
        assert ours.behavior.shape == (ours.length, 128)
        lengths.append(ours.length)
    assert lengths[1] < lengths[0] == 300
    assert task.behavior_size == 0


def test_the_player_gathers_the_observations_of_the_environment():
    task = make_task("atari:freeway", max_steps=10)
    for ours, theirs in both_ways(task, Eye(3), [1], contributes=True):
        assert ours.observed.count == theirs.observed.count == 10
        np.testing.assert_array_equal(ours.observed.sum, theirs.observed.sum)
        np.testing.assert_array_equal(ours.observed.square, theirs.observed.square)


def test_the_player_plays_the_same_episode_in_a_new_emulator():
    task, policy = make_task("atari:freeway", max_steps=40), Eye(3)
    theta = policy.init(np.random.default_rng(0))
    used = player(task, policy)
    first = used.play(theta, initial(PIXELS), 1)
    used.play(-theta, initial(PIXELS), 2)
    for again in (used, player(task, policy)):
        np.testing.assert_array_equal(
            again.play(theta, initial(PIXELS), 1).behavior, first.behavior
        )


def test_a_trace_is_one_row_of_ram_per_step():
    task = make_task("atari:freeway", max_steps=30)
    env, policy = atari.AtariEnv("freeway"), Eye(3)
    theta = policy.init(np.random.default_rng(3))
    b = player(task, policy).play(theta, initial(PIXELS), 9).behavior
    act = policy.bind(theta, initial(PIXELS))
    observation, _ = env.reset(seed=9)
    for row in b:
        observation, *_, info = env.step(int(act(observation.reshape(-1).astype(float)).argmax()))
        np.testing.assert_array_equal(row, info["ram"])
    assert len(b) == 30


def test_only_a_policy_of_frames_and_a_behavior_of_ram_have_a_player():
    task = make_task("atari:freeway", max_steps=5)
    assert task.native is not None
    blind = Eye(3)
    blind.observation_size = PIXELS - 1
    assert task.native(task, blind) is None
    assert task.native(task, object()) is None
    other = make_task("atari:freeway", "final-observation:0", max_steps=5)
    assert other.native(other, Eye(3)) is None
    assert make_task("atari:freeway", render_mode="rgb_array").native is None


def test_e5_a_policy_with_another_number_of_actions_is_refused():
    task = make_task("atari:freeway", max_steps=5)
    with pytest.raises(ValueError, match=r"must return 3 numbers.*got an output of shape \(18,\)"):
        player(task, Eye(18))


def test_e15_a_trace_has_one_row_even_without_a_step():
    record = parse_behavior("ram").record(5000)
    start = np.arange(128, dtype=np.uint8)
    b = record.result(None, {"ram": start})
    assert b.shape == (1, 128)
    assert b.dtype == np.uint8
    np.testing.assert_array_equal(b[0], start)


def test_e16_the_trace_of_100_000_steps_stays_in_bytes():
    record, ram = parse_behavior("ram").record(100_000), np.zeros(128, np.uint8)
    for step in range(100_000):
        ram[:] = step % 251
        record.see(None, {"ram": ram})
    b = record.result(None, {"ram": ram})
    assert b.nbytes == 12_800_000
    assert record.rows.nbytes < 2 * b.nbytes
    np.testing.assert_array_equal(b[:, 5], np.arange(100_000) % 251)


def test_the_task_passes_its_check():
    check_task(make_task("atari:freeway", max_steps=50))


def test_a_game_is_a_task_with_its_ram_as_behavior():
    task = make_task("atari:frostbite")
    assert (task.name, task.step_limit, task.goal) == ("atari:frostbite", 5000, None)
    assert (task.behavior.name, task.behavior.summary, task.distance) == ("ram", "trace", "ram")
    assert task.facts.observation_space.shape == (84, 84, 4)
    assert make_task("atari:frostbite", max_steps=70).step_limit == 70


def test_the_distance_fits_the_behavior():
    assert make_task("atari:freeway", "ram-final").distance == "squared-euclidean"
    assert make_task("atari:freeway", "ram").distance == "ram"
    assert make_task("atari:freeway", distance="ram-total").distance == "ram-total"
    assert make_task("ALE/Freeway-v5", "ram", max_steps=5).distance == "ram"


@pytest.mark.parametrize("name", ["MsPacman", "ms_pacman", "mspacman", "Ms. Pacman"])
def test_a_game_may_be_spelled_as_one_likes(name):
    assert make_task(f"atari:{name}").name == "atari:ms_pacman"


def test_the_action_sets_are_those_of_the_paper():
    sizes = [18, 10, 18, 9, 3, 18, 18, 18, 9, 6, 18, 18]
    for game, size in zip(PAPER_GAMES, sizes, strict=True):
        ale = ale_py.ALEInterface()
        ale.loadROM(ale_py.roms.get_rom_path(atari.game_of(game)))
        assert len(ale.getMinimalActionSet()) == size, game
    assert atari.AtariEnv("amidar").action_space.n == 10


@pytest.mark.parametrize(
    ("name", "closest"),
    [("frostbit", "frostbite"), ("Montezuma", "montezuma_revenge"), ("packman", "pacman")],
)
def test_e7_an_unknown_game_is_answered_with_the_closest(name, closest):
    with pytest.raises(ValueError, match=f"no Atari game is called '{name}'. .*{closest}"):
        make_task(f"atari:{name}")
    with pytest.raises(ValueError, match=f"no Atari game is called '{name}'. .*{closest}"):
        atari.AtariEnv(name)


def test_e7_a_game_like_no_other_is_answered_with_all_of_them():
    with pytest.raises(ValueError, match=r"There are adventure, .*, zaxxon\."):
        make_task("atari:qqqqqq")


def test_e7_a_game_for_two_players_is_refused():
    with pytest.raises(ValueError, match="'combat' needs two players"):
        make_task("atari:combat")


def test_e7_a_game_without_its_prefix_is_answered_with_it():
    with pytest.raises(ValueError, match="atari:frostbite"):
        make_task("frostbite")


def test_e7_a_missing_rom_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("ALE_ROMS_DIR", str(tmp_path))
    with pytest.raises(ValueError, match=r"the ROM of 'pong' cannot be read.*ALE_ROMS_DIR"):
        make_task("atari:pong")


@pytest.mark.parametrize("name", ["atari:frostbite", "NSES/Atari-v0"])
def test_e7_a_missing_extra_is_named(monkeypatch, name):
    monkeypatch.setitem(sys.modules, "ale_py", None)
    with pytest.raises(ValueError, match=rf"'{name}' needs.*pip install 'nses\[atari\]'"):
        make_task(name)


def test_the_game_stands_in_the_name_of_the_task():
    with pytest.raises(ValueError, match="write atari:pong"):
        make_task("atari:frostbite", game="pong")
    with pytest.raises(ValueError, match=r"cannot be made.*colour"):
        make_task("atari:frostbite", colour="red").make()


def test_nobody_imports_ale_py_before_it_is_needed():
    code = "import sys, nses.rollouts.tasks.catalog; assert 'ale_py' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("behavior", ["ram", "ram-final", "ram-mean"])
def test_behaviors_of_ram_work_with_the_environments_of_ale_py(behavior):
    task = make_task(
        "ALE/Freeway-v5", behavior, max_steps=20, obs_type="ram", repeat_action_probability=0.0
    )
    env = task.make()
    record = task.behavior.record(20)
    _, info = env.reset(seed=0)
    rows = []
    for _ in range(20):
        observation, *_, info = env.step(1)
        record.see(observation, info)
        rows.append(observation)  # which is the RAM
    expected = {"ram": np.array(rows), "ram-final": rows[-1], "ram-mean": np.mean(rows, axis=0)}
    b = record.result(observation, info)
    np.testing.assert_array_equal(b, expected[behavior])
    assert b.dtype == (np.uint8 if behavior == "ram" else np.float64)
