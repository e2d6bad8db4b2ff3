"""Check that a user's own policy can be trained; the first violation raises a UsageError."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nses.core.moments import Moments, initial
from nses.core.seeding import Purpose, generator
from nses.errors import UsageError
from nses.rollouts.episode import check_shapes
from nses.rollouts.plugins import calling, copied, short, whole_number
from nses.rollouts.policies import Policy
from nses.rollouts.spaces import input_of, output_of
from nses.rollouts.tasks.task import Task

STEPS = 30  # of an episode of random observations

Vector = NDArray[np.float32]
Floats = NDArray[np.float64]
Floating = NDArray[np.floating[Any]]


def check_policy(policy: Policy, task: Task | None = None) -> None:
    """Check the parameters and outputs of a policy and, given a task, that the two fit."""
    d = whole_number(policy, "size")
    inputs = whole_number(policy, "observation_size")
    theta = _initial_theta(policy, d)
    size = getattr(policy, "moments_size", None)
    if size not in (0, inputs):
        raise UsageError(
            f"moments_size must be {inputs}, the observation_size, or 0 for a policy that does "
            f"not use the moments of observations, got {size!r}; write moments_size = 0 in its "
            "class if in doubt."
        )
    rng = generator(0, 0, 0, Purpose.EPISODE)
    moments, x, other_x = initial(size), rng.standard_normal(inputs), rng.standard_normal(inputs)
    _check_pure(policy, theta, moments, x, other_x)
    _check_episode(policy, theta, moments)

    sums = x + other_x, x * x + other_x * other_x
    seen = moments.merge(Moments(2, *(of_all[:size] for of_all in sums)))
    y, later = _respond(policy, theta, moments, x), _respond(policy, theta, seen, x)
    if later.shape != y.shape:
        raise UsageError(
            "the policy must return the same number of outputs for any moments, "
            f"got shape {y.shape} at first and {later.shape} after two observations."
        )
    if not np.array_equal(_respond(copied(policy, "the policy"), theta, moments, x), y):
        raise UsageError(
            "a copy of the policy made by cloudpickle, as for the workers, must give the same "
            "outputs; keep nothing outside the policy that its outputs depend on."
        )
    if task is not None:
        facts = task.facts
        check_shapes(policy, input_of(facts.observation_space), output_of(facts.action_space))


def remembers(policy: Policy) -> bool:
    """Whether the outputs of a sound policy depend on earlier steps of the episode."""
    theta, moments = _initial_theta(policy, policy.size), initial(policy.moments_size)
    X = generator(0, 0, 0, Purpose.EPISODE).standard_normal((STEPS, policy.observation_size))
    outputs = _episode(policy, theta, moments, X)
    return any(
        not np.array_equal(y, _respond(policy, theta, moments, x))
        for x, y in zip(X, outputs, strict=True)
    )


def _initial_theta(policy: Policy, d: int) -> Vector:
    rngs = (generator(0, 0, 0, Purpose.POLICY_INIT) for _ in range(2))
    with calling("policy.init(rng)"):
        theta, again = (policy.init(rng) for rng in rngs)
    kind = getattr(theta, "dtype", type(theta).__name__)
    if np.shape(theta) != (d,) or kind != np.float32:
        raise UsageError(
            f"policy.init must give a float32 vector of shape ({d},), one number per parameter "
            f"(policy.size), got {kind} of shape {np.shape(theta)}; .astype(np.float32) makes it "
            "one of float32."
        )
    if not np.isfinite(theta).all():
        raise UsageError(f"policy.init must give finite numbers, got {short(theta)}.")
    if not np.array_equal(theta, again):
        raise UsageError(
            "policy.init must give the same parameters for the same random numbers, got "
            f"{short(theta)}, then {short(again)}; draw them from rng only."
        )
    return theta


def _check_pure(
    policy: Policy, theta: Vector, moments: Moments, x: Floats, other_x: Floats
) -> None:
    """Outputs may depend only on theta, the moments and the observations of an episode."""
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
                f"got {short(before)}, then {short(now)}; keep what it remembers from step to "
                "step in the function that bind returns at the beginning of every episode."
            )
    # Players write one candidate after the other into the same array.
    buffer = theta.copy()
    policy.bind(buffer, moments)(x)
    buffer *= np.float32(0.5)
    halved, expected = (_respond(policy, v, moments, x) for v in (buffer, buffer.copy()))
    if not np.array_equal(halved, expected):
        raise UsageError(
            "policy.bind must read theta in every call, got the output for numbers that the array "
            "held before; do not cache by array."
        )


def _check_episode(policy: Policy, theta: Vector, moments: Moments) -> None:
    """What is remembered may break later steps; an episode must not change the next one."""
    rng = generator(0, 0, 0, Purpose.EPISODE)
    X = rng.standard_normal((STEPS, policy.observation_size))
    before, kept = _episode(policy, theta, moments, X), theta.copy()
    again = _episode(policy, theta, moments, X)
    if not np.array_equal(theta, kept):
        raise UsageError("the policy must not modify theta; work on a copy.")
    for step, (y, now) in enumerate(zip(before, again, strict=True), start=1):
        if not np.array_equal(y, now):
            raise UsageError(
                "the policy must begin every episode anew, but for the same observations it gave "
                f"{short(y)} at step {step} of one episode and {short(now)} at step {step} of the "
                "next; reset what it remembers in bind."
            )


def _episode(policy: Policy, theta: Vector, moments: Moments, X: Floats) -> list[Floating]:
    """The outputs for some observations, the first of which alone was checked before."""
    respond, outputs = policy.bind(theta, moments), []
    for step, x in enumerate(X, start=1):
        where = f" at step {step} of an episode"
        with calling(f"policy.bind(theta, moments)(observation){where}"):
            y = respond(x)
        outputs.append(_checked(y, x, where))
        if y.shape != outputs[0].shape:
            raise UsageError(
                "the policy must return the same number of outputs at every step, got shape "
                f"{outputs[0].shape} at first and {y.shape}{where}."
            )
    return outputs


def _respond(policy: Policy, theta: Vector, moments: Moments, x: Floats) -> Floating:
    with calling("policy.bind(theta, moments)(observation)"):
        y = policy.bind(theta, moments)(x)
    return _checked(y, x)


def _checked(y: Any, x: Floats, where: str = "") -> Floating:
    """A copy of an output."""
    if not isinstance(y, np.ndarray) or y.ndim != 1 or y.dtype.kind != "f":
        kind = getattr(y, "dtype", type(y).__name__)
        raise UsageError(
            "a policy must give a float vector, one number per action dimension or choice, "
            f"got {kind} of shape {np.shape(y)}{where}."
        )
    if not np.isfinite(y).all():
        raise UsageError(
            f"a policy with fresh parameters must give finite outputs, got {short(y)} for the "
            f"observation {short(x)}{where}."
        )
    return y.copy()
