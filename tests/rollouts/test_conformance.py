import itertools
import threading
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces

from nses.core.moments import initial
from nses.rollouts.behaviors import Behavior, parse_behavior
from nses.rollouts.conformance import check_task
from nses.rollouts.episode import GymnasiumPlayer, player
from nses.rollouts.policies.mlp import MLP
from nses.rollouts.policy_conformance import check_policy
from nses.rollouts.tasks.catalog import make_task
from toys import Arm, Corridor, Endless, corridor

clock = itertools.count()  # the state of a world that no seed reaches


@pytest.mark.parametrize("name", ["point-trap", "CartPole-v1", "Pendulum-v1", "Taxi-v4"])
def test_tasks_that_are_sound_pass(name):
    check_task(make_task(name))


@pytest.mark.parametrize("environment", [Corridor, Endless, Arm])
@pytest.mark.parametrize("behavior", ["final:x", "mean-observation", "trajectory:x"])
def test_a_users_own_sound_task_passes_with_every_summary(environment, behavior):
    check_task(corridor(make=environment, behavior=parse_behavior(behavior)))


class FourValues(Corridor):
    def step(self, action: Any) -> Any:
        return super().step(action)[:4]


class OldReset(Corridor):
    def reset(self) -> Any:  # type: ignore[override]
        return super().reset()


class OutOfSpace(Corridor):
    def look(self) -> Any:
        return np.zeros(3)


class Blind(Corridor):
    def look(self) -> Any:
        return np.array([np.nan, 0.0])


class Boundless(Corridor):
    """Infinity lies in its space, but cannot be learned from."""

    def __init__(self) -> None:
        super().__init__()
        self.observation_space = spaces.Box(-np.inf, np.inf, (2,), np.float64)

    def look(self) -> Any:
        return np.array([np.inf, 0.0])


class PaidInNan(Corridor):
    def step(self, action: Any) -> Any:
        observation, _, *rest = super().step(action)
        return observation, np.nan, *rest


class PaidInWords(Corridor):
    def step(self, action: Any) -> Any:
        observation, _, *rest = super().step(action)
        return observation, "much", *rest


class Unseeded(Corridor):
    """Starts wherever the clock stands."""

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.x = 0.01 * (next(clock) % 50)
        return self.look(), {"x": self.x}


class Leaking(Corridor):
    """Remembers how often it was stepped, and pays for it."""

    steps = 0

    def step(self, action: Any) -> Any:
        self.steps += 1
        observation, reward, *rest = super().step(action)
        return observation, reward + self.steps, *rest


class Numbered(Corridor):
    """No two environments pay the same."""

    def __init__(self) -> None:
        super().__init__()
        self.number = next(clock)

    def step(self, action: Any) -> Any:
        observation, reward, *rest = super().step(action)
        return observation, reward + self.number, *rest


class Locked(Corridor):
    def __init__(self, lock: Any) -> None:
        super().__init__()


class TextAction(Corridor):
    def __init__(self) -> None:
        super().__init__()
        self.action_space = spaces.Text(9)  # type: ignore[assignment]


class TextObservation(Corridor):
    def __init__(self) -> None:
        super().__init__()
        self.observation_space = spaces.Text(9)  # type: ignore[assignment]


def growing(observation: Any, info: dict[str, Any]) -> Any:
    return np.zeros(1 + int(abs(info["x"]) > 2))


def ticking(observation: Any, info: dict[str, Any]) -> Any:
    return [next(clock)]


def undefined(observation: Any, info: dict[str, Any]) -> Any:
    return [np.nan]


only = Corridor()

BROKEN_TASKS: dict[str, tuple[dict[str, Any], str]] = {
    "no room for a step": ({"step_limit": 0}, r"step_limit of Task must be .* at least 1, got 0"),
    "half a step": ({"step_limit": 2.5}, r"step_limit of Task must be a whole number.*got 2\.5"),
    "unknown distance": ({"distance": "cosine"}, r"euclidean, ram, ram-total, got 'cosine'"),
    "behavior is a function": ({"behavior": undefined}, r"must be an nses.Behavior, got function"),
    "cannot be pickled": (
        {"make": partial(Locked, threading.Lock())},
        r"cloudpickle must .* TypeError: cannot pickle",
    ),
    "make raises": ({"make": partial(Corridor, colour="red")}, r"task\.make\(\).*colour"),
    "make gives no environment": ({"make": dict}, r"must return a gymnasium.Env, got dict"),
    "one environment for all": ({"make": lambda: only}, r"new environment in every call"),
    "e6 unsupported actions": ({"make": TextAction}, r"got Text"),
    "e6 unsupported observations": ({"make": TextObservation}, r"flattens to numbers, got Text"),
    "step gives four values": ({"make": FourValues}, r"step\(.*\) must work.*expected 5, got 4"),
    "reset takes no seed": ({"make": OldReset}, r"reset\(seed=\.\.\.\) must work.*seed"),
    "observation out of its space": ({"make": OutOfSpace}, r"must lie in the observation space"),
    "e2 observation of nan": ({"make": Blind}, r"must lie in the observation space.*nan"),
    "e2 observation of infinity": ({"make": Boundless}, r"observations must be finite.*inf"),
    "e1 reward of nan": ({"make": PaidInNan}, r"must be finite, got the reward nan"),
    "reward in words": ({"make": PaidInWords}, r"float\(reward\) must work.*'much'"),
    "reset ignores the seed": ({"make": Unseeded}, r"but reset\(seed=1\) gave.*once more"),
    "state leaks": ({"make": Leaking}, r"but step 1 after reset\(seed=1\) gave.*once more"),
    "environments differ": ({"make": Numbered}, r"but step 1 after.*in a new environment"),
    "info key missing": (
        {"behavior": parse_behavior("final:y")},
        r"the behavior must work.*no key 'y'.*its keys are: x",
    ),
    "behavior of nan": ({"behavior": Behavior("nan", undefined)}, r"finite numbers, got \[nan\]"),
    "empty behavior": (
        {"behavior": Behavior("", lambda o, i: [])},
        r"numbers, one or more, got \[\]",
    ),
    "behavior of changing length": (
        {"behavior": Behavior("growing", growing)},
        r"same length in all episodes, got 1 numbers after one step and 2",
    ),
    "behavior of the clock": ({"behavior": Behavior("now", ticking)}, r"must have the same behav"),
}


@pytest.mark.parametrize("what", BROKEN_TASKS)
def test_a_broken_task_is_told_what_is_wrong(what):
    changes, message = BROKEN_TASKS[what]
    with pytest.raises(ValueError, match=message):
        check_task(corridor(**changes))


def test_what_is_no_task_is_refused():
    with pytest.raises(ValueError, match=r"an nses\.Task, got str; make one.*nses\.make_task"):
        check_task("CartPole-v1")  # type: ignore[arg-type]


def test_e17_a_behavior_that_cannot_tell_a_short_episode_is_caught():
    def speed(observation, info):
        return [1 / int(abs(info["x"]) >= 3)]

    with pytest.raises(ValueError, match=r"the behavior must work, got ZeroDivisionError"):
        check_task(corridor(behavior=Behavior("speed", speed)))


class Off:
    """A compiled loop that gets one thing wrong."""

    def __init__(self, change: Any, task: Any, policy: Any) -> None:
        self.player, self.change = GymnasiumPlayer(task, policy), change

    def play(self, *arguments: Any, **asked: Any) -> Any:
        return self.change(self.player.play(*arguments, **asked), asked)

    def close(self) -> None:
        self.player.close()


def faithful(episode, asked):
    return episode


def nearly_the_return(episode, asked):
    return replace(episode, f=np.nextafter(episode.f, np.inf))


def another_length(episode, asked):
    return replace(episode, length=episode.length + 1)


def another_behavior(episode, asked):
    return replace(episode, behavior=-episode.behavior)


def nothing_observed(episode, asked):
    return replace(episode, observed=None)


def noise_makes_it_wrong(episode, asked):
    return replace(episode, f=episode.f + 1) if asked["action_noise"] else episode


def test_a_faithful_compiled_loop_passes():
    check_task(corridor(make=Arm, native=partial(Off, faithful)))


def test_a_compiled_loop_for_other_policies_is_not_compared():
    check_task(corridor(native=lambda task, policy: None))


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (nearly_the_return, "its return"),
        (another_length, "its length"),
        (another_behavior, "its behavior"),
        (nothing_observed, r"its observed moments.*contributes=True"),
        (noise_makes_it_wrong, r"its return.*noise=0\.01"),
    ],
)
def test_a_compiled_loop_that_is_off_by_a_bit_is_caught(change, what):
    with pytest.raises(ValueError, match=rf"bit for bit, but {what}"):
        check_task(corridor(make=Arm, native=partial(Off, change)))


def test_a_compiled_loop_that_forgets_to_normalize_is_caught():
    def plain(task, policy):
        return player(task, replace(policy, normalize=False), native=False)

    with pytest.raises(ValueError, match=r"normalize=True"):
        check_task(corridor(make=Arm, native=plain))


def test_checks_leave_nothing_behind():
    """A checked task and policy play the episode that they would have played."""
    task, policy = corridor(make=Arm), MLP((2, 3, 1))
    theta = np.ones(policy.size, np.float32)
    before = GymnasiumPlayer(task, policy).play(theta, initial(2), 5)
    check_task(task)
    check_policy(policy, task)
    after = GymnasiumPlayer(task, policy).play(theta, initial(2), 5)
    assert (before.f, before.behavior.tolist()) == (after.f, after.behavior.tolist())


class SetByTheFirst(Corridor):
    """Whatever it plays first decides how all that follows is paid."""

    start: float | None = None

    def step(self, action: Any) -> Any:
        self.start = self.x if self.start is None else self.start
        observation, reward, *rest = super().step(action)
        return observation, reward + self.start, *rest


def test_m13_a_state_that_only_another_order_of_episodes_shows_is_caught():
    with pytest.raises(ValueError, match=r"after reset\(seed=2\) gave.*in a new environment"):
        check_task(corridor(make=SetByTheFirst))
