import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from nses.core.moments import initial
from nses.core.seeding import Purpose, generator
from nses.rollouts.behaviors import Behavior
from nses.rollouts.episode import GymnasiumPlayer, player
from nses.rollouts.native.point import RADIUS
from nses.rollouts.policies.mlp import MLP
from nses.rollouts.tasks.catalog import make_task
from nses.rollouts.tasks.point import HALF_WIDTH, PointPlayer, PointTrapEnv

STILL = np.zeros(2)
NORTH = np.pi / 2

seeds = st.integers(0, 2**31 - 1)
half_widths = st.none() | st.floats(0.5, 20.0)
weights = st.one_of(st.floats(-3.0, 3.0, width=32), st.floats(width=32))  # sane ones and any


def both_ways(policy, task, theta, seed, **asked):
    """The same episode in the compiled loop and in the environment."""
    moments = initial(6)
    native, stepped = player(task, policy), GymnasiumPlayer(task, policy)
    assert isinstance(native, PointPlayer)
    return [p.play(theta, moments, seed, **asked) for p in (native, stepped)]


def numbers(episode):
    o = episode.observed
    observed = [] if o is None else [o.count, *o.sum, *o.square]
    return np.array([episode.f, episode.length, *episode.behavior, *observed])


@given(
    data=st.data(),
    seed=seeds,
    half_width=half_widths,
    activation=st.sampled_from(["tanh", "relu"]),
    normalize=st.booleans(),
    noise=st.sampled_from([0.0, 0.01, 0.5]),
    contributes=st.booleans(),
)
@settings(deadline=None, max_examples=150)
def test_the_compiled_loop_plays_the_episodes_of_the_environment_bit_for_bit(
    data, seed, half_width, activation, normalize, noise, contributes
):
    policy = MLP((6, 3, 2), activation, normalize)
    theta = data.draw(arrays(np.float32, policy.size, elements=weights))
    task = make_task("point-trap", half_width=half_width, max_steps=60)
    native, stepped = both_ways(
        policy, task, theta, seed, action_noise=noise, contributes=contributes
    )
    np.testing.assert_array_equal(numbers(native), numbers(stepped))
    assert native.behavior.dtype == stepped.behavior.dtype == np.float64


@pytest.mark.parametrize("seed", range(4))
def test_whole_episodes_of_the_default_network_are_the_same_both_ways(seed):
    policy = MLP((6, 16, 16, 2))
    theta = generator(seed, 0, 0, Purpose.POLICY_INIT).standard_normal(418, np.float32)
    native, stepped = both_ways(
        policy, make_task("point-trap"), theta, seed, action_noise=0.01, contributes=True
    )
    np.testing.assert_array_equal(numbers(native), numbers(stepped))
    assert native.length == 300


def test_e2_parameters_that_are_nan_give_the_return_nan_both_ways():
    policy = MLP((6, 3, 2))
    theta = np.full(policy.size, np.nan, np.float32)
    native, stepped = both_ways(policy, make_task("point-trap"), theta, 0)
    assert np.isnan(native.f)
    np.testing.assert_array_equal(numbers(native), numbers(stepped))
    assert native.length == 1


def test_only_an_mlp_that_fits_has_a_compiled_loop():
    task = make_task("point-trap")
    assert task.native is not None
    assert task.native(task, MLP((5, 2))) is None
    assert task.native(task, MLP((6, 3))) is None
    with pytest.raises(ValueError, match="takes theta of shape"):
        player(task, MLP((6, 2))).play(np.zeros(3, np.float32), initial(6), 0)


@pytest.mark.parametrize("name", ["point-trap", "swimmer-trap"])
def test_a_behavior_of_ones_own_is_played_whatever_its_name(name):
    task = make_task(name, Behavior("final:x,y", lambda observation, info: [7.0]), max_steps=2)
    facts = task.facts
    policy = MLP((facts.observation_space.shape[0], facts.action_space.shape[0]))  # type: ignore[index]
    playing = player(task, policy)
    theta, seen = np.zeros(policy.size, np.float32), initial(policy.observation_size)
    assert playing.play(theta, seen, 0).behavior.tolist() == [7.0]
    playing.close()


def test_the_place_has_a_compiled_loop_however_it_is_spelled():
    policy = MLP((6, 2))
    assert isinstance(player(make_task("point-trap", "final: x, y"), policy), PointPlayer)
    for other in ("final:y,x", "mean:x,y", "final:x"):
        assert isinstance(player(make_task("point-trap", other), policy), GymnasiumPlayer)


@pytest.mark.parametrize("seed", range(3))
def test_the_rewards_of_an_episode_sum_to_its_final_x(seed):
    environment = gym.make("NSES/PointTrap-v0")
    environment.action_space.seed(seed)
    _, info = environment.reset(seed=seed)
    total, truncated, steps = 0.0, False, 0
    while not truncated:
        _, reward, terminated, truncated, info = environment.step(environment.action_space.sample())
        total, steps = total + float(reward), steps + 1
        assert not terminated
    assert steps == 300
    assert total == pytest.approx(info["x"], abs=1e-9)


def straight_ahead(task, seed):
    """Full throttle, steering back to heading 0: the greedy way, which ES takes."""
    policy = MLP((6, 2), normalize=False)
    W, b = np.zeros((6, 2), np.float32), np.array([1.0, 0.0], np.float32)
    W[3, 1], W[1, 1], W[5, 1] = -3.0, -10.0, -1.0
    return player(task, policy).play(np.concatenate([W.ravel(), b]), initial(6), seed).f


def test_straight_ahead_ends_in_the_trap():
    task = make_task("point-trap")
    for seed in range(10):
        f = straight_ahead(task, seed)
        assert 5.1 < f <= 5.3
        assert f < task.goal


def test_straight_ahead_is_the_best_way_without_a_trap():
    task = make_task("point")
    assert task.goal is None
    assert min(straight_ahead(task, seed) for seed in range(10)) > 25


@pytest.mark.parametrize("identifier", ["NSES/Point-v0", "NSES/PointTrap-v0"])
def test_the_environment_passes_the_check_of_gymnasium_without_a_warning(identifier):
    check_env(gym.make(identifier).unwrapped)
    check_env(gym.make(identifier, render_mode="rgb_array").unwrapped)


def test_observations_stay_within_their_space():
    environment = gym.make("NSES/PointTrap-v0")
    environment.action_space.seed(0)
    observation, _ = environment.reset(seed=0)
    for _ in range(300):
        assert environment.observation_space.contains(observation)
        observation, *_ = environment.step(environment.action_space.sample())


def test_start_and_motors_are_noisy_and_repeatable():
    environment = PointTrapEnv()
    ends = []
    for seed in (1, 2, 1):
        start, _ = environment.reset(seed=seed)
        for _ in range(50):
            end, *_ = environment.step(np.array([1.0, 0.0], np.float32))
        ends.append([*start, *end])
    assert ends[0] == ends[2] != ends[1]


@pytest.mark.parametrize("half_width", [0.0, 2 * RADIUS, 100.0, np.nan])
def test_a_trap_without_room_is_refused(half_width):
    with pytest.raises(ValueError, match="half_width must lie between"):
        PointTrapEnv(half_width)


def test_pictures_show_the_walls_and_the_robot():
    environment = PointTrapEnv(render_mode="rgb_array")
    environment.reset(seed=0)
    environment.state[:3] = 3.0, -10.0, 0.0
    environment.path.append((3.0, -10.0))
    image = environment.render()
    assert image is not None
    assert image.shape == (640, 640, 3)
    assert image.dtype == np.uint8

    def colour(x, y):
        scale = 640 / 36
        return image[int((18 - y) * scale), int((x + 6) * scale)].tolist()

    wall, robot, ground = [70, 70, 80], [200, 60, 40], [250, 250, 250]
    for point in ((5.5, 0.0), (4.0, HALF_WIDTH), (4.0, -HALF_WIDTH)):
        assert colour(*point) == wall
    assert colour(3.0, -10.0) == robot
    assert colour(2.5, 0.0) == colour(4.0, 0.0) == colour(21.0, 10.0) == ground
    assert PointTrapEnv().render() is None
