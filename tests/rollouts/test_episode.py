import tracemalloc
from itertools import islice

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

from nses.core.moments import Moments, initial
from nses.core.seeding import Purpose, generator
from nses.rollouts.behaviors import parse_behavior
from nses.rollouts.episode import ActionNoise, GymnasiumPlayer, player
from nses.rollouts.policies.mlp import MLP
from nses.rollouts.tasks.catalog import make_task
from toys import Arm, Corridor, Endless, corridor

SEEN = Moments(5.0, np.array([1.0, 2.0, 0.5, -1.0]), np.array([3.0, 4.0, 2.0, 6.0]))


def theta_of(policy, seed=0):
    rng = generator(seed, 0, 0, Purpose.POLICY_INIT)
    return rng.standard_normal(policy.size, np.float32)


def by_hand(identifier, respond, to_action, seed, limit=10_000):
    """What anyone would write with gymnasium.make: return, observations seen, last observation."""
    environment = gym.make(identifier)
    observation, _ = environment.reset(seed=seed)
    total, seen = 0.0, []
    for _ in range(limit):
        seen.append(np.asarray(observation, np.float64))
        action = to_action(respond(seen[-1]))
        observation, reward, terminated, truncated, _ = environment.step(action)
        total += float(reward)
        if terminated or truncated:
            break
    environment.close()
    return total, np.array(seen), observation


TASKS = {
    "CartPole-v1": (MLP((4, 8, 2)), lambda y: int(np.argmax(y))),
    "Pendulum-v1": (MLP((3, 8, 1)), lambda y: np.clip(y, -2.0, 2.0)),
}


@pytest.mark.parametrize("identifier", TASKS)
@pytest.mark.parametrize("seed", [0, 7])
def test_an_episode_is_that_of_a_loop_written_by_hand(identifier, seed):
    policy, to_action = TASKS[identifier]
    moments = Moments(SEEN.count, SEEN.sum[: policy.sizes[0]], SEEN.square[: policy.sizes[0]])
    theta = theta_of(policy, seed)
    episode = GymnasiumPlayer(make_task(identifier), policy).play(theta, moments, seed)
    total, seen, last = by_hand(identifier, policy.bind(theta, moments), to_action, seed)
    assert episode.f == total
    assert episode.length == len(seen)
    assert episode.behavior.tolist() == last.tolist()
    assert episode.observed is None


def test_contributed_moments_are_the_sums_over_the_observations_acted_upon():
    policy, to_action = TASKS["CartPole-v1"]
    theta, moments = theta_of(policy), initial(4)
    played = GymnasiumPlayer(make_task("CartPole-v1"), policy)
    episode = played.play(theta, moments, 3, contributes=True)
    _, seen, _ = by_hand("CartPole-v1", policy.bind(theta, moments), to_action, 3)
    assert episode.observed is not None
    assert episode.observed.count == len(seen)
    np.testing.assert_allclose(episode.observed.sum, seen.sum(axis=0), rtol=1e-12)
    np.testing.assert_allclose(episode.observed.square, (seen**2).sum(axis=0), rtol=1e-12)


def test_episodes_do_not_depend_on_those_before():
    policy, _ = TASKS["Pendulum-v1"]
    task = make_task("Pendulum-v1", max_steps=50)
    used, theta, moments = GymnasiumPlayer(task, policy), theta_of(policy), initial(3)
    used.play(theta_of(policy, 1), moments, 1)
    fresh = GymnasiumPlayer(task, policy).play(theta, moments, 2)
    again = used.play(theta, moments, 2)
    assert again.f == fresh.f
    assert again.behavior.tolist() == fresh.behavior.tolist()


def test_actions_are_noisy_only_where_it_is_asked_for():
    policy, _ = TASKS["Pendulum-v1"]
    played = GymnasiumPlayer(make_task("Pendulum-v1", max_steps=50), policy)
    theta, moments = theta_of(policy), initial(3)
    without = played.play(theta, moments, 1)
    noisy = played.play(theta, moments, 1, action_noise=0.01)
    assert played.play(theta, moments, 1, action_noise=0.0).f == without.f
    assert noisy.f != without.f
    assert noisy.f == pytest.approx(without.f, rel=0.2)
    assert played.play(theta, moments, 1, action_noise=0.01).f == noisy.f


def test_the_noise_has_the_scale_that_was_asked_for():
    heard = []

    class Listening(Arm):
        def step(self, action):
            heard.append(float(action[0]))
            return super().step(action)

    policy = MLP((2, 1))
    played = GymnasiumPlayer(corridor(make=Listening, step_limit=2000), policy)
    played.play(np.zeros(policy.size, np.float32), initial(2), 0, action_noise=0.01)
    assert len(heard) == 2000
    assert np.std(heard) == pytest.approx(0.01, rel=0.1)
    assert np.mean(heard) == pytest.approx(0.0, abs=0.001)


def test_choices_are_never_noisy():
    policy, _ = TASKS["CartPole-v1"]
    played = GymnasiumPlayer(make_task("CartPole-v1"), policy)
    theta, moments = theta_of(policy), initial(4)
    without, asked = (played.play(theta, moments, 1, action_noise=a) for a in (0.0, 100.0))
    assert asked.f == without.f
    assert asked.behavior.tolist() == without.behavior.tolist()


def test_a_policy_may_keep_the_output_that_noise_is_added_to():
    class Constant(MLP):
        def bind(self, theta, moments):
            y = np.zeros(1, np.float32)
            return lambda x: y

    policy = Constant((2, 1))
    played = GymnasiumPlayer(corridor(make=Arm, step_limit=500), policy)
    theta = np.zeros(policy.size, np.float32)
    noisy = played.play(theta, initial(2), 0, action_noise=0.01)
    plain = GymnasiumPlayer(corridor(make=Arm, step_limit=500), MLP((2, 1)))
    assert noisy.f == plain.play(theta, initial(2), 0, action_noise=0.01).f


class Broken(Corridor):
    """Observes NaN after `good` steps."""

    def __init__(self, good: int):
        super().__init__(width=1e9)
        self.good, self.steps = good, 0

    def reset(self, *, seed=None, options=None):
        self.steps = 0
        return super().reset(seed=seed)

    def step(self, action):
        self.steps += 1
        return super().step(action)

    def look(self):
        return np.array([np.nan if self.steps >= self.good else 0.5, 1.0])


@pytest.mark.parametrize("behavior", ["final-observation", "mean-observation", "trajectory:x"])
@pytest.mark.parametrize("good", [0, 1, 3])
def test_e2_a_nan_observation_ends_the_episode_with_the_return_nan(good, behavior):
    task = corridor(make=lambda: Broken(good), behavior=parse_behavior(behavior))
    policy = MLP((2, 2))
    episode = GymnasiumPlayer(task, policy).play(theta_of(policy), initial(2), 0)
    assert np.isnan(episode.f)
    assert episode.length == good
    assert episode.behavior.shape == (task.behavior_size,)
    if good == 0:
        assert np.isnan(episode.behavior).all()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_e1_a_return_that_is_not_finite_is_passed_on(bad):
    class Unpaid(Corridor):
        def step(self, action):
            observation, _, *rest = super().step(action)
            return observation, bad, *rest

    policy = MLP((2, 2))
    episode = GymnasiumPlayer(corridor(make=Unpaid), policy).play(theta_of(policy), initial(2), 0)
    assert not np.isfinite(episode.f)


def test_e5_huge_outputs_reach_the_environment_clipped():
    policy = MLP((2, 1))
    theta = np.full(policy.size, 1e30, np.float32)
    episode = GymnasiumPlayer(corridor(make=Arm), policy).play(theta, initial(2), 0)
    assert episode.behavior[0] == pytest.approx(20.0, abs=0.5)  # 20 steps of at most 1


@pytest.mark.parametrize(
    ("sizes", "message"),
    [((3, 2), "the 2 numbers of an observation.*is 3"), ((2, 4, 3), r"2 numbers.*shape \(3,\)")],
)
def test_e5_a_policy_of_the_wrong_shape_is_refused_when_it_meets_the_spaces(sizes, message):
    with pytest.raises(ValueError, match=message):
        player(corridor(), MLP(sizes))


def test_e6_an_unsupported_space_is_named_before_the_first_step():
    class Odd(Corridor):
        def __init__(self):
            super().__init__()
            self.action_space = spaces.Text(2)

    with pytest.raises(ValueError, match="got Text"):
        player(corridor(make=Odd), MLP((2, 2)))


def test_e17_an_episode_that_ends_at_once_counts_as_one_step():
    task = corridor(make=lambda: Corridor(width=0.1), behavior=parse_behavior("mean:x"))
    policy = MLP((2, 2))
    episode = GymnasiumPlayer(task, policy).play(theta_of(policy), initial(2), 0)
    assert episode.length == 1
    assert episode.behavior.tolist() == [episode.f]  # the corridor pays x


@pytest.mark.parametrize("limit", [1, 20, 137])
def test_e18_an_endless_environment_is_stopped_at_the_step_limit(limit):
    policy = MLP((2, 2))
    played = GymnasiumPlayer(corridor(make=Endless, step_limit=limit), policy)
    episode = played.play(theta_of(policy), initial(2), 0, contributes=True)
    assert episode.length == limit
    assert episode.observed is not None
    assert episode.observed.count == limit


def test_a_task_without_a_compiled_loop_for_the_policy_is_played_in_its_environment():
    assert isinstance(player(corridor(), MLP((2, 2))), GymnasiumPlayer)
    assert isinstance(
        player(corridor(native=lambda task, policy: None), MLP((2, 2))), GymnasiumPlayer
    )
    assert isinstance(player(make_task("point-trap"), MLP((6, 2)), native=False), GymnasiumPlayer)


def test_closing_a_player_closes_its_environment():
    closed = []

    class Closing(Corridor):
        def close(self):
            closed.append(self)

    played = GymnasiumPlayer(corridor(make=Closing), MLP((2, 2)))
    assert not closed
    played.close()
    assert closed == [played.environment]


class Outburst(Arm):
    """Shows numbers near the end of what a float64 holds."""

    def look(self):
        return np.array([1e200 * np.sign(self.x), self.x])


@pytest.mark.parametrize("normalize", [True, False])
def test_l3_a_huge_observation_leaves_moments_and_actions_finite(normalize):
    acted = []

    class Watched(Outburst):
        def step(self, action):
            acted.append(action.copy())
            return super().step(action)

    policy = MLP((2, 8, 1), normalize=normalize)
    played = GymnasiumPlayer(corridor(make=Watched), policy)
    moments, theta = initial(2), theta_of(policy)
    for seed in range(4):
        episode = played.play(theta, moments, seed, contributes=True)
        moments = moments.merge(episode.observed)
    assert np.isfinite([moments.mean, moments.std]).all()
    assert moments.std[1] < 100.0  # the others are as they would be
    assert np.isfinite(acted).all()
    assert np.abs(acted).min() > 0.0


def test_l9_a_high_step_limit_costs_nothing_where_episodes_are_short():
    task = corridor(make=Arm, step_limit=10**7)
    policy = MLP((2, 1))
    played, theta = GymnasiumPlayer(task, policy), theta_of(policy)
    played.play(theta, initial(2), 0, action_noise=0.1)  # compiles
    tracemalloc.start()
    try:
        episode = played.play(theta, initial(2), 1, action_noise=0.1)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert episode.length < 10_000
    assert peak < 1 << 20


def test_l9_noise_row_by_row_is_that_of_the_whole_episode():
    whole = ActionNoise(3, 0.2, 3).draw(3000)
    one_by_one = list(islice(ActionNoise(3, 0.2, 3).rows(), 3000))
    assert np.array(one_by_one).tobytes() == whole.tobytes()
