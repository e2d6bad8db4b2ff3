"""Whether a user's own task or policy can be trained with: Gymnasium's `check_env`, for plug-ins.

Both checks raise UsageError at the first violation: what was expected, what came, what to do.
"""

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import product
from typing import Any, TypeVar

import cloudpickle
import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from nses.core.distances import check_distance
from nses.core.moments import Moments, initial
from nses.core.seeding import Purpose, generator
from nses.errors import UsageError
from nses.rollouts.behaviors import Behavior
from nses.rollouts.episode import Episode, GymnasiumPlayer, check_shapes
from nses.rollouts.foreign import errors_only, generators_kept, seed_global_generators
from nses.rollouts.policies import Policy
from nses.rollouts.policies.mlp import MLP
from nses.rollouts.repetition import differences
from nses.rollouts.spaces import input_of, output_of
from nses.rollouts.tasks.task import Task

STEPS = 100  # of an episode with random actions
HIDDEN = 8  # units of the MLP that plays a compiled loop
ACTION_NOISE = 0.01

Vector = NDArray[np.float32]
Floats = NDArray[np.float64]
T = TypeVar("T")


def check_task(task: Task) -> None:
    """Plays a few episodes with random actions, then those of a compiled loop if there is one."""
    with generators_kept(), errors_only():
        _check_task(task)


def _check_task(task: Task) -> None:
    _check_settings(task)
    _copy(task, "the task")
    with closing(_make(task)) as environment, closing(_make(task)) as another:
        if environment is another:
            raise UsageError(
                "task.make() must make a new environment at every call, got the same one twice; "
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


def check_policy(policy: Policy, task: Task | None = None) -> None:
    """Looks at the parameters and outputs of a policy; with a task, whether the two fit."""
    d = _whole_number(policy, "size")
    inputs = _whole_number(policy, "observation_size")
    theta = _initial_theta(policy, d)
    size = getattr(policy, "moments_size", None)
    if size not in (0, inputs):
        raise UsageError(
            f"moments_size must be {inputs} as observation_size is, or 0 for a policy that does "
            f"not look at the moments of observations, got {size!r}."
        )
    rng = generator(0, 0, 0, Purpose.EPISODE)
    moments, x, other_x = initial(size), rng.standard_normal(inputs), rng.standard_normal(inputs)
    _check_pure(policy, theta, moments, x, other_x)

    sums = x + other_x, x * x + other_x * other_x
    seen = moments.merge(Moments(2, *(of_all[:size] for of_all in sums)))
    y, later = _respond(policy, theta, moments, x), _respond(policy, theta, seen, x)
    if later.shape != y.shape:
        raise UsageError(
            "the policy must give as many outputs whatever the moments of the observations, "
            f"got shape {y.shape} at first and {later.shape} after two observations."
        )
    if not np.array_equal(_respond(_copy(policy, "the policy"), theta, moments, x), y):
        raise UsageError(
            "the policy must give the same outputs after a trip through cloudpickle, as on its "
            "way to the workers; keep nothing outside of it that its outputs depend on."
        )
    if task is not None:
        facts = task.facts
        check_shapes(policy, input_of(facts.observation_space), output_of(facts.action_space))


def _check_settings(task: Task) -> None:
    if not isinstance(task, Task):
        raise UsageError(
            f"check_task takes an nses.Task, got {type(task).__name__}; nses.make_task makes one "
            "of a name, nses.Task(name, make, behavior, step_limit) of your own environment."
        )
    if not isinstance(task.behavior, Behavior):
        raise UsageError(
            f"task.behavior must be an nses.Behavior, got {type(task.behavior).__name__}; "
            "write nses.Behavior(name, function of (observation, info))."
        )
    _whole_number(task, "step_limit")
    check_distance(task.distance, traces=task.behavior.summary == "trace")


def _make(task: Task) -> gym.Env[Any, Any]:
    with _calling("task.make()"):
        environment = task.make()
    if not isinstance(environment, gym.Env):
        raise UsageError(
            f"task.make() must return a gymnasium.Env, got {type(environment).__name__}; "
            "derive the class from gymnasium.Env."
        )
    return environment


@dataclass(frozen=True, eq=False)
class Trace:
    """An episode: reward, whether it ended and the flat observation of the reset and every step."""

    rows: list[Floats]
    behavior: NDArray[Any]


def _play(task: Task, environment: gym.Env[Any, Any], seed: int, actions: Sequence[Any]) -> Trace:
    record = task.behavior.record(task.step_limit)
    seed_global_generators(seed)
    with _calling("reset(seed=...)"):
        observation, info = environment.reset(seed=seed)
    rows = [_row(environment, observation, 0.0, False)]
    for action in actions:
        with _calling(f"step({action!r})"):
            observation, reward, terminated, truncated, info = environment.step(action)
        rows.append(_row(environment, observation, reward, terminated or truncated))
        if record.every_step:
            with _calling("the behavior"):
                record.see(observation, info)
        if terminated or truncated:
            break
    with _calling("the behavior"):
        b = record.result(observation, info)
    if b.size == 0 or not np.isfinite(b).all():
        raise UsageError(
            f"a behavior must be one or more finite numbers, got {_short(b)} after "
            f"{len(rows) - 1} step(s)."
        )
    return Trace(rows, b)


def _row(environment: gym.Env[Any, Any], observation: Any, reward: Any, end: bool) -> Floats:
    space = environment.observation_space
    if not space.contains(observation):
        raise UsageError(
            f"observations must lie in the observation space {space}, got {observation!r}; "
            "mind shape, dtype and bounds."
        )
    with _calling("float(reward)"):
        value = float(reward)
    row = np.concatenate([[value, end], input_of(space).flatten(observation)])
    if not np.isfinite(row).all():
        raise UsageError(
            "rewards and observations must be finite, got the reward "
            f"{value} with the observation {_short(row[2:])}."
        )
    return row


def _check_native(task: Task) -> None:
    """The compiled loop against the environment: the same episodes, bit for bit."""
    if task.native is None:
        return
    facts = task.facts
    inputs, outputs = input_of(facts.observation_space), output_of(facts.action_space)
    for normalize in (False, True):
        policy = MLP((inputs.size, HIDDEN, outputs.size), normalize=normalize)
        with _calling("task.native(task, policy)"):
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
                with _calling("play(...) of the compiled loop"):
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
                f"bit, but its {name} was {_short(b)} instead of {_short(a)} ({case}); do the "
                "same arithmetic in the same order, or leave task.native away."
            )


def _sums(moments: Moments | None) -> Floats:
    if moments is None:
        return np.empty(0)
    return np.concatenate([[moments.count], moments.sum, moments.square])


def _initial_theta(policy: Policy, d: int) -> Vector:
    rngs = (generator(0, 0, 0, Purpose.POLICY_INIT) for _ in range(2))
    with _calling("policy.init(rng)"):
        theta, again = (policy.init(rng) for rng in rngs)
    kind = getattr(theta, "dtype", type(theta).__name__)
    if np.shape(theta) != (d,) or kind != np.float32:
        raise UsageError(
            f"policy.init must give a float32 vector of shape ({d},), one number per parameter "
            f"(policy.size), got {kind} of shape {np.shape(theta)}."
        )
    if not np.isfinite(theta).all():
        raise UsageError(f"policy.init must give finite numbers, got {_short(theta)}.")
    if not np.array_equal(theta, again):
        raise UsageError(
            "policy.init must give the same parameters for the same random numbers, got "
            f"{_short(theta)}, then {_short(again)}; draw them from rng only."
        )
    return theta


def _check_pure(
    policy: Policy, theta: Vector, moments: Moments, x: Floats, other_x: Floats
) -> None:
    """Outputs depend on theta, moments and the observations of an episode, and on nothing else."""
    kept = {"theta": (theta, theta.copy()), "its observation": (x, x.copy())}
    kept |= {"the moments": (moments.sum, moments.sum.copy())}
    y = _respond(policy, theta, moments, x)
    for name, (now, before) in kept.items():
        if not np.array_equal(now, before):
            raise UsageError(f"the policy must not modify {name}; work on a copy.")

    respond, another = policy.bind(theta, moments), policy.bind(theta, moments)
    first = np.array(respond(x))
    pairs = [(y, first), (first, np.array(another(x)))]
    pairs += [(np.array(respond(z)), np.array(another(z))) for z in (other_x, x)]
    for before, now in pairs:
        if not np.array_equal(before, now):
            raise UsageError(
                "the policy must give the same outputs for the same observations of an episode, "
                f"got {_short(before)}, then {_short(now)}; keep what it remembers from step to "
                "step in the function that bind returns at the beginning of every episode."
            )
    # Whoever plays the episodes writes one candidate after the other into the same array.
    buffer = theta.copy()
    policy.bind(buffer, moments)(x)
    buffer *= np.float32(0.5)
    halved, expected = (_respond(policy, v, moments, x) for v in (buffer, buffer.copy()))
    if not np.array_equal(halved, expected):
        raise UsageError(
            "policy.bind must look at the numbers in theta at every call, got the output of the "
            "numbers that an array held before; remember nothing by array."
        )


def _respond(policy: Policy, theta: Vector, moments: Moments, x: Floats) -> NDArray[np.floating]:
    with _calling("policy.bind(theta, moments)(observation)"):
        y = policy.bind(theta, moments)(x)
    if not isinstance(y, np.ndarray) or y.ndim != 1 or y.dtype.kind != "f":
        kind = getattr(y, "dtype", type(y).__name__)
        raise UsageError(
            "a policy must give a float vector, one number per action dimension or choice, "
            f"got {kind} of shape {np.shape(y)}."
        )
    if not np.isfinite(y).all():
        raise UsageError(
            f"a policy with fresh parameters must give finite outputs, got {_short(y)} for the "
            f"observation {_short(x)}."
        )
    return y.copy()


def _whole_number(owner: object, name: str) -> int:
    value = getattr(owner, name, None)
    if not isinstance(value, int | np.integer) or value < 1:
        raise UsageError(
            f"{name} of {type(owner).__name__} must be a whole number of at least 1, got {value!r}."
        )
    return int(value)


def _copy(plugin: T, name: str) -> T:
    """A copy as a worker gets it."""
    try:
        return cloudpickle.loads(cloudpickle.dumps(plugin))
    except Exception as error:
        raise UsageError(
            f"{name} must pass through cloudpickle on its way to the workers, got "
            f"{type(error).__name__}: {error}; make open files, locks and simulators where they "
            "are used, not before."
        ) from error


@contextmanager
def _calling(what: str) -> Iterator[None]:
    """An exception in a user's code, as a UsageError that says where it came from."""
    try:
        yield
    except Exception as error:
        raise UsageError(f"{what} must work, got {type(error).__name__}: {error}") from error


def _short(numbers: Any) -> str:
    return np.array2string(np.asarray(numbers), threshold=8, edgeitems=3, separator=", ")
