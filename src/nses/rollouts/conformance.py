"""Check that a user's own task can be trained on, as Gymnasium's `check_env` does.

The first violation raises a UsageError: what was expected, what came, what to do.
"""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import product
from typing import Any

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from nses.core.distances import check_distance
from nses.core.moments import Moments, initial
from nses.core.seeding import Purpose, generator
from nses.errors import UsageError
from nses.rollouts.behaviors import Behavior
from nses.rollouts.episode import Episode, GymnasiumPlayer
from nses.rollouts.foreign import errors_only, generators_kept, seed_global_generators
from nses.rollouts.plugins import calling, copied, short, whole_number
from nses.rollouts.policies.mlp import MLP
from nses.rollouts.repetition import differences
from nses.rollouts.spaces import input_of, output_of
from nses.rollouts.tasks.task import Task

STEPS = 100  # of an episode with random actions
HIDDEN = 8  # units of the MLP that plays a compiled loop
ACTION_NOISE = 0.01

Floats = NDArray[np.float64]


def check_task(task: Task) -> None:
    """Play a few episodes with random actions, then check the compiled loop if there is one."""
    with generators_kept(), errors_only():
        _check_task(task)


def _check_task(task: Task) -> None:
    _check_settings(task)
    copied(task, "the task")
    with closing(_make(task)) as environment, closing(_make(task)) as another:
        if environment is another:
            raise UsageError(
                "task.make() must make a new environment in every call, got the same one twice; "
                "write make=lambda: MyEnv(), not make=lambda: environment."
            )
        input_of(environment.observation_space)
        space = environment.action_space
        output_of(space)
        space.seed(0)
        actions = [space.sample() for _ in range(min(STEPS, task.step_limit))]

        first = _play(task, environment, 1, actions)
        short = _play(task, environment, 2, actions[:1])
        for difference in differences(task, another):
            if difference:
                raise UsageError(difference)
    if task.behavior.summary != "trace" and short.behavior.size != first.behavior.size:
        raise UsageError(
            f"behaviors must have the same length in all episodes, got {short.behavior.size} "
            f"numbers after one step and {first.behavior.size} after {len(first.rows) - 1}; pad "
            "short episodes, for example with their last state."
        )
    _check_native(task)


def _check_settings(task: Task) -> None:
    if not isinstance(task, Task):
        raise UsageError(
            f"check_task takes an nses.Task, got {type(task).__name__}; make one from a name with "
            "nses.make_task, from your own environment with nses.Task(name, make, behavior, "
            "step_limit)."
        )
    if not isinstance(task.behavior, Behavior):
        raise UsageError(
            f"task.behavior must be an nses.Behavior, got {type(task.behavior).__name__}; "
            "write nses.Behavior(name, function of (observation, info))."
        )
    whole_number(task, "step_limit")
    check_distance(task.distance, traces=task.behavior.summary == "trace")


def _make(task: Task) -> gym.Env[Any, Any]:
    with calling("task.make()"):
        environment = task.make()
    if not isinstance(environment, gym.Env):
        raise UsageError(
            f"task.make() must return a gymnasium.Env, got {type(environment).__name__}; "
            "derive the class from gymnasium.Env."
        )
    return environment


@dataclass(frozen=True, eq=False)
class Transcript:
    """An episode: reward, end flag and flat observation of the reset and of every step."""

    rows: list[Floats]
    behavior: NDArray[Any]


def _play(
    task: Task, environment: gym.Env[Any, Any], seed: int, actions: Sequence[Any]
) -> Transcript:
    record = task.behavior.record(task.step_limit)
    seed_global_generators(seed)
    with calling("reset(seed=...)"):
        observation, info = environment.reset(seed=seed)
    rows = [_row(environment, observation, 0.0, False)]
    for action in actions:
        with calling(f"step({action!r})"):
            observation, reward, terminated, truncated, info = environment.step(action)
        rows.append(_row(environment, observation, reward, terminated or truncated))
        if record.every_step:
            with calling("the behavior"):
                record.see(observation, info)
        if terminated or truncated:
            break
    with calling("the behavior"):
        b = record.result(observation, info)
    if b.size == 0 or not np.isfinite(b).all():
        raise UsageError(
            f"a behavior must be one or more finite numbers, got {short(b)} after "
            f"{len(rows) - 1} step(s)."
        )
    return Transcript(rows, b)


def _row(environment: gym.Env[Any, Any], observation: Any, reward: Any, end: bool) -> Floats:
    space = environment.observation_space
    if not space.contains(observation):
        raise UsageError(
            f"observations must lie in the observation space {space}, got {observation!r}; "
            "check shape, dtype and bounds."
        )
    with calling("float(reward)"):
        value = float(reward)
    row = np.concatenate([[value, end], input_of(space).flatten(observation)])
    if not np.isfinite(row).all():
        raise UsageError(
            "rewards and observations must be finite, got the reward "
            f"{value} with the observation {short(row[2:])}."
        )
    return row


def _check_native(task: Task) -> None:
    """Checks that the compiled loop plays the same episodes as the environment, bit for bit."""
    if task.native is None:
        return
    facts = task.facts
    inputs, outputs = input_of(facts.observation_space), output_of(facts.action_space)
    for normalize in (False, True):
        policy = MLP((inputs.size, HIDDEN, outputs.size), normalize=normalize)
        with calling("task.native(task, policy)"):
            compiled = task.native(task, policy)
        if compiled is None:  # a loop for another kind of policy
            return
        moments = initial(inputs.size)
        with closing(compiled), closing(GymnasiumPlayer(task, policy)) as reference:
            choices = product((0.0, ACTION_NOISE), (False, True))
            for seed, (noise, contributes) in enumerate(choices):
                rng = generator(seed, 0, 0, Purpose.POLICY_INIT)
                theta = rng.standard_normal(policy.size, np.float32)
                asked = {"action_noise": noise, "contributes": contributes}
                expected = reference.play(theta, moments, seed, **asked)
                with calling("play(...) of the compiled loop"):
                    episode = compiled.play(theta, moments, seed, **asked)
                _check_episode(expected, episode, f"{normalize=}, {noise=}, {contributes=}")
                if expected.observed is not None:
                    moments = moments.merge(expected.observed)


def _check_episode(expected: Episode, episode: Episode, case: str) -> None:
    compared = {
        "return": (expected.f, episode.f),
        "length": (expected.length, episode.length),
        "behavior": (expected.behavior, episode.behavior),
        "observed moments": (_sums(expected.observed), _sums(episode.observed)),
    }
    for name, (a, b) in compared.items():
        if not np.array_equal(a, b, equal_nan=True):
            raise UsageError(
                f"the compiled loop must play the episodes of the Gymnasium environment, bit for "
                f"bit, but its {name} was {short(b)} instead of {short(a)} ({case}); do the "
                "same arithmetic in the same order, or omit task.native."
            )


def _sums(moments: Moments | None) -> Floats:
    return np.empty(0) if moments is None else moments.row
