"""Atari games as environments: emulator, preprocessing, resets."""

from functools import cache

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from nses.rollouts.tasks.register import register_environments

ale_py = pytest.importorskip("ale_py")
Image = pytest.importorskip("PIL.Image")
atari = pytest.importorskip("nses.rollouts.tasks.atari")

register_environments()
PIXELS = 84 * 84 * 4
LEAKY = ["freeway", "frostbite", "qbert", "beam_rider", "seaquest"]
EUROPEAN = "air_raid"  # in other colors, 250 lines high


@cache
def environment(game):
    """One that many tests have played in before."""
    return atari.AtariEnv(game)


def actions_of(game, seed, steps):
    n = int(environment(game).action_space.n)
    return np.random.default_rng(seed).integers(n, size=steps).tolist()


def episode(env, seed, actions):
    """What an episode shows: observations, RAM and rewards, each with a row per step."""
    observation, info = env.reset(seed=seed)
    rows = [(observation, info["ram"], 0.0)]
    for action in actions:
        observation, reward, terminated, _, info = env.step(action)
        rows.append((observation, info["ram"], reward))
        if terminated:
            break
    return tuple(np.array(column) for column in zip(*rows, strict=True))


def assert_same(ours, theirs):
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(a, b)


class Machine:
    """A second emulator with the preprocessing of the paper, written from the paper alone."""

    def __init__(self, game):
        self.ale = ale_py.ALEInterface()
        self.ale.setFloat("repeat_action_probability", 0.0)
        self.ale.loadROM(ale_py.roms.get_rom_path(game))
        self.ale.reset_game()
        self.actions = self.ale.getMinimalActionSet()
        self.colors = []  # of the last two frames

    def frame(self, action):
        reward = self.ale.act(action)
        self.colors = [*self.colors[-1:], self.ale.getScreenRGB()]
        return reward

    def step(self, index):
        reward = 0
        for _ in range(4):
            reward += self.frame(self.actions[index])
            if self.ale.game_over():
                break
        return reward

    def grey(self):
        luma = np.max(self.colors, axis=0) @ np.array([0.299, 0.587, 0.114])
        image = Image.fromarray(luma.astype(np.float32)).resize((84, 84), Image.BILINEAR)
        return np.rint(np.array(image)).astype(np.uint8)

    def begin(self, noops):
        for _ in range(noops):
            self.frame(ale_py.Action.NOOP)
        self.colors = self.colors[-1:]
        if self.actions[1] == ale_py.Action.FIRE:
            self.step(1)
            self.step(2)


def noops_of(seed, noops=30):
    return int(np.random.Generator(np.random.PCG64(seed)).integers(1, noops + 1))


@pytest.mark.parametrize("game", ["frostbite", "freeway", "seaquest", "ms_pacman", EUROPEAN])
def test_observations_are_those_of_an_independent_pipeline(game):
    env, machine = environment(game), Machine(game)
    observation, info = env.reset(seed=5)
    machine.begin(noops_of(5))
    stack = [machine.grey()] * 4
    wrong = steps = 0
    for action in actions_of(game, 5, 150):
        expected = np.stack(stack, axis=-1)
        assert np.abs(observation.astype(int) - expected).max() <= 1
        wrong += np.count_nonzero(observation != expected)
        steps += 1
        np.testing.assert_array_equal(info["ram"], machine.ale.getRAM())
        assert info["lives"] == machine.ale.lives()
        observation, reward, over, _, info = env.step(action)
        assert reward == machine.step(action)
        assert over == machine.ale.game_over()
        stack = [*stack[1:], machine.grey()]
        if over:
            break
    assert wrong < 1e-3 * steps * PIXELS  # a tie here and there


@pytest.mark.slow
def test_the_colors_of_games_are_known():
    for game in ale_py.roms.get_all_rom_ids()[::4]:  # all of them have the same
        if ale_py.ALEInterface.isSupportedROM(ale_py.roms.get_rom_path(game)):
            emulator, rng = atari.Emulator(game), np.random.default_rng(0)
            emulator.reset(rng)
            for index in rng.integers(len(emulator.actions), size=20):
                emulator.step(int(index))
                screen = emulator.screens[1]
                shown = emulator.ale.getScreenRGB()
                np.testing.assert_array_equal(atari.palette_of(len(screen))[screen], shown)


def test_returns_and_lengths_are_those_of_ale_py_in_gymnasium():
    env = environment("frostbite")
    env.reset(seed=3)
    theirs = gym.make(
        "ALE/Frostbite-v5", frameskip=4, repeat_action_probability=0.0, full_action_space=False
    )
    theirs.reset(seed=0)
    for _ in range(noops_of(3)):
        theirs.unwrapped.ale.act(0)  # type: ignore[attr-defined]
    theirs.step(1)
    theirs.step(2)
    rewards = []
    for action in actions_of("frostbite", 3, 2000):
        _, reward, over, _, info = env.step(action)
        _, their_reward, their_over, _, _ = theirs.step(action)
        assert (reward, over) == (their_reward, their_over)
        np.testing.assert_array_equal(info["ram"], theirs.unwrapped.ale.getRAM())  # type: ignore[attr-defined]
        rewards.append(reward)
        if over:
            break
    assert over
    assert len(rewards) > 20
    assert sum(rewards) > 0


@pytest.mark.parametrize("game", LEAKY)
def test_the_same_seed_gives_the_same_episode_whatever_was_played_before(game):
    used, actions = environment(game), actions_of(game, 1, 60)
    first = episode(used, 1, actions)
    episode(used, 2, actions_of(game, 2, 90))
    assert_same(first, episode(used, 1, actions))
    fresh = atari.AtariEnv(game)
    assert_same(first, episode(fresh, 1, actions))
    assert_same(first, episode(fresh, 1, actions))


def test_episodes_begin_with_1_to_30_frames_of_doing_nothing():
    def frames(env, **asked):
        return env.reset(**asked)[1]["episode_frame_number"]

    env, short = environment("freeway"), atari.AtariEnv("freeway", noops=2)
    drawn = [frames(env, seed=seed) for seed in range(200)]
    assert drawn == [noops_of(seed) for seed in range(200)]
    assert set(drawn) == set(range(1, 31))
    assert {frames(short, seed=seed) for seed in range(20)} == {1, 2}
    further = [frames(env, seed=8), *(frames(env) for _ in range(5))]
    rng = np.random.Generator(np.random.PCG64(8))
    assert further == rng.integers(1, 31, size=6).tolist()


def test_the_first_observation_is_one_frame_four_times():
    for game in ("freeway", "frostbite"):
        observation, _ = environment(game).reset(seed=4)
        assert len(np.unique(observation)) > 2
        assert (observation == observation[..., :1]).all()


@pytest.mark.parametrize(
    ("game", "fires"), [("frostbite", True), ("qbert", True), ("freeway", False)]
)
def test_games_with_fire_begin_with_fire_and_the_next_action(game, fires):
    env = environment(game)
    calls = []

    class Spy:
        def act(self, action):
            calls.append(action)
            return env_ale.act(action)

        def __getattr__(self, name):
            return getattr(env_ale, name)

    env_ale, env.emulator.ale = env.emulator.ale, Spy()
    try:
        env.reset(seed=0)
    finally:
        env.emulator.ale = env_ale
    noops = noops_of(0) - 1  # one is part of the state that an episode begins with
    one, two = env.emulator.actions[1:3]
    assert calls == [0] * noops + ([one] * 4 + [two] * 4 if fires else [])


def test_a_game_that_ends_before_the_episode_begins_starts_again():
    env, noops = atari.AtariEnv("kangaroo", noops=1300), 1300
    seed = next(seed for seed in range(100) if noops_of(seed, noops) > 1200)
    _, info = env.reset(seed=seed)
    assert info["episode_frame_number"] < 200  # whoever does not move has lost after 1150
    _, _, over, _, info = env.step(0)
    assert not over
    assert info["lives"] == 3


def test_a_game_that_ends_at_fire_starts_again():
    env = atari.AtariEnv("frostbite")
    ends = iter([True, True])

    class Ending:
        def game_over(self):
            return next(ends, False)

        def __getattr__(self, name):
            return getattr(ale, name)

    env.emulator.chance = atari.Chance(noops=1)
    ale, env.emulator.ale = env.emulator.ale, Ending()
    observation, info = env.reset(seed=0)
    assert not env.emulator.over
    assert info["episode_frame_number"] == 1  # FIRE and the next action both ended it
    assert (observation == observation[..., :1]).all()


def test_the_environment_passes_the_check_of_gymnasium_without_a_warning():
    check_env(gym.make("NSES/Atari-v0").unwrapped)
    check_env(gym.make("NSES/Atari-v0", game="freeway", render_mode="rgb_array").unwrapped)


def test_the_environment_has_the_step_limit_of_the_paper():
    spec = gym.spec("NSES/Atari-v0")
    assert spec.max_episode_steps == 5000
    env = gym.make("NSES/Atari-v0", game="freeway", max_episode_steps=3)
    env.reset(seed=0)
    assert [env.step(0)[3] for _ in range(3)] == [False, False, True]


def test_pictures_are_the_screen_in_colors():
    env = atari.AtariEnv("freeway", render_mode="rgb_array")
    env.reset(seed=0)
    image = env.render()
    assert image.shape == (210, 160, 3)
    assert len(np.unique(image.reshape(-1, 3), axis=0)) > 5
    assert environment("freeway").render() is None


@pytest.mark.parametrize("action", [-1, 18, 10**30, 1.5, None, "UP", np.array([1, 2])])
def test_e5_an_action_out_of_range_is_refused(action):
    env = environment("frostbite")
    env.reset(seed=0)
    with pytest.raises(ValueError, match="whole number from 0 to 17, got"):
        env.step(action)


def test_infos_keep_their_ram():
    env = environment("freeway")
    _, before = env.reset(seed=0)
    kept = before["ram"].copy()
    _, *_, after = env.step(1)
    assert kept.shape == (128,)
    assert kept.dtype == np.uint8
    np.testing.assert_array_equal(before["ram"], kept)
    assert (after["ram"] != kept).any()


def test_episodes_can_begin_later():
    env = atari.AtariEnv("freeway", noops=60, least_noops=31)
    drawn = {env.reset(seed=seed)[1]["episode_frame_number"] for seed in range(300)}
    assert drawn == set(range(31, 61))


def test_a_quarter_of_the_frames_repeats_the_action_before_as_the_seed_says():
    def executed(seed):
        acted.clear()
        env.reset(seed=seed)
        acted.clear()
        for step in range(250):
            env.step(1 + step % 2)
        return list(acted)

    class Recorder:
        def act(self, action):
            acted.append(action)
            return ale.act(action)

        def __getattr__(self, name):
            return getattr(ale, name)

    acted = []
    env = atari.AtariEnv("freeway", sticky=0.25)
    ale, env.emulator.ale = env.emulator.ale, Recorder()
    first, again, other = (executed(seed) for seed in (1, 1, 2))
    assert first == again != other
    asked = [env.emulator.actions[1 + step % 2] for step in range(250) for _ in range(4)]
    # A frame can only show a repetition where the action has changed: the first of a step.
    changed = [a != b for a, b in zip(first[4::4], asked[4::4], strict=True)]
    assert 0.15 < np.mean(changed) < 0.35
    env.emulator.chance = atari.Chance()
    assert executed(1) == asked


@pytest.mark.parametrize("noops", [0, -3, 1.5, None])
def test_a_number_of_noops_below_one_is_refused(noops):
    with pytest.raises(ValueError, match="noops must be a whole number of at least 1, got"):
        atari.AtariEnv("freeway", noops=noops)


def test_another_palette_is_noticed(monkeypatch):
    palette = atari.palette_of(210)
    monkeypatch.setattr(atari, "palette_of", lambda height: palette[::-1])
    with pytest.raises(RuntimeError, match="colors that nses does not know"):
        atari.Emulator("freeway")
