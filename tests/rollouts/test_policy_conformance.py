"""Policies of users: sound ones pass, and others are told what is wrong."""

import itertools
import threading
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from nses.core.moments import Moments
from nses.rollouts.policies.mlp import MLP
from nses.rollouts.policy_conformance import check_policy
from nses.rollouts.tasks.catalog import make_task
from toys import corridor

clock = itertools.count()  # the state of a world that no seed reaches


@pytest.mark.parametrize(
    "policy", [MLP((6, 16, 16, 2)), MLP((6, 2)), MLP((6, 4, 2), "relu", normalize=False)]
)
def test_policies_that_are_sound_pass(policy):
    check_policy(policy)
    check_policy(policy, make_task("point-trap"))


@dataclass
class Linear:
    """y = theta x, sound; what is broken below is broken one method at a time."""

    outputs: int = 2
    observation_size: int = 2

    @property
    def moments_size(self) -> Any:
        return self.observation_size

    @property
    def size(self) -> Any:
        return self.outputs * self.observation_size

    def init(self, rng: np.random.Generator) -> Any:
        return rng.standard_normal(self.size, np.float32)

    def bind(self, theta: Any, moments: Moments) -> Any:
        W = theta.reshape(self.outputs, self.observation_size).copy()
        return lambda x: W @ x.astype(np.float32)


def test_a_users_own_sound_policy_passes():
    check_policy(Linear(), corridor())


class Unmoved(Linear):
    """Says that it has no use for moments, so it must do without."""

    moments_size = 0

    def bind(self, theta: Any, moments: Moments) -> Any:
        assert moments.sum.size == moments.square.size == 0
        return super().bind(theta, moments)


def test_a_policy_without_moments_passes():
    check_policy(Unmoved(), corridor())


@pytest.mark.parametrize("size", [1, 3, -1, None, 2.5])
def test_moments_of_some_of_the_observation_are_refused(size: Any):
    policy = Unmoved()
    policy.moments_size = size
    with pytest.raises(ValueError, match=r"moments_size must be 2, the observation_size, or 0"):
        check_policy(policy)


class Sizeless(Linear):
    size = 0


class TooFewParameters(Linear):
    def init(self, rng):
        return super().init(rng)[1:]


class DoubleParameters(Linear):
    def init(self, rng):
        return super().init(rng).astype(np.float64)


class ListOfParameters(Linear):
    def init(self, rng):
        return super().init(rng).tolist()


class NanParameters(Linear):
    def init(self, rng):
        return np.full(self.size, np.nan, np.float32)


class InitByClock(Linear):
    def init(self, rng):
        return np.full(self.size, next(clock), np.float32)


class InitRaises(Linear):
    def init(self, rng):
        raise RuntimeError("no parameters today")


class MatrixOutput(Linear):
    def bind(self, theta, moments):
        return lambda x: np.zeros((1, 2), np.float32)


class ListOutput(Linear):
    def bind(self, theta, moments):
        return lambda x: [0.0, 0.0]


class WholeNumbers(Linear):
    def bind(self, theta, moments):
        return lambda x: np.array([0, 1])


class NanOutput(Linear):
    def bind(self, theta, moments):
        return lambda x: np.full(2, np.nan, np.float32)


class ChangesTheta(Linear):
    def bind(self, theta, moments):
        theta[0] += 1
        return super().bind(theta, moments)


class ChangesObservation(Linear):
    def bind(self, theta, moments):
        def respond(x):
            x *= 2
            return x.astype(np.float32)

        return respond


class ChangesMoments(Linear):
    def bind(self, theta, moments):
        moments.sum[:] = 1
        return super().bind(theta, moments)


class Recurrent(Linear):
    """Sound: it remembers the observations of an episode, and no others."""

    def bind(self, theta, moments):
        state = np.zeros(2, np.float32)

        def respond(x):
            state[:] += x.astype(np.float32)
            return state

        return respond


def test_a_policy_may_remember_the_steps_of_an_episode():
    check_policy(Recurrent(), corridor())


class Shared(Linear):
    """Begins every episode anew, but spoils one that goes on beside it."""

    def bind(self, theta, moments):
        self.state = np.zeros(2, np.float32)

        def respond(x):
            self.state += x.astype(np.float32)
            return self.state

        return respond


class Immemorial(Linear):
    """Says nothing of moments."""

    moments_size = None


class RemembersTheta(Linear):
    """Saves itself the copy of an array that it has seen before."""

    known: Any = None
    W: Any = None

    def bind(self, theta, moments):
        if self.known is not theta:
            self.known, self.W = theta, theta.reshape(2, 2).copy()
        W = self.W
        return lambda x: W @ x.astype(np.float32)


class OneOutputMoreWithEveryMoment(Linear):
    def bind(self, theta, moments):
        return lambda x: np.zeros(2 + int(moments.count), np.float32)


class WrongMoments(Linear):
    def bind(self, theta, moments):
        mean = np.ones(3) * moments.mean
        return lambda x: (x - mean).astype(np.float32)


class Holding(Linear):
    def __init__(self):
        super().__init__()
        self.lock = threading.Lock()


class Explodes(Linear):
    """Sound at first; what it remembers grows too fast."""

    def bind(self, theta, moments):
        state = np.ones(2, np.float32)

        def respond(x):
            with np.errstate(over="ignore"):
                state[:] *= np.float32(1e9)
            return state

        return respond


class GrowsLonger(Linear):
    """Returns all that it has seen."""

    def bind(self, theta, moments):
        seen = []

        def respond(x):
            seen.append(x[0] if len(seen) < 10 else 0.0)
            return np.array(seen[:2] if len(seen) < 10 else seen, np.float32)

        return respond


class Episodic(Linear):
    """Steps that only a long episode reaches depend on the episodes before it."""

    def bind(self, theta, moments):
        steps = 0

        def respond(x):
            nonlocal steps
            steps += 1
            late = next(clock) if steps > 20 else 0
            return np.full(2, late, np.float32)

        return respond


class LearnsLate(Linear):
    """Changes its parameters, but not at once."""

    def bind(self, theta, moments):
        steps = 0

        def respond(x):
            nonlocal steps
            steps += 1
            theta[0] += steps == 20
            return np.zeros(2, np.float32)

        return respond


class Forgetful(Linear):
    """Loses on its way what its outputs depend on."""

    scale = 1.0

    def __setstate__(self, state):
        self.scale = 2.0

    def bind(self, theta, moments):
        return lambda x: (self.scale * x).astype(np.float32)


BROKEN_POLICIES = {
    Sizeless: r"size of Sizeless must be a whole number of at least 1, got 0",
    TooFewParameters: r"float32 vector of shape \(4,\).*got float32 of shape \(3,\)",
    DoubleParameters: r"float32 vector of shape \(4,\).*got float64 of shape \(4,\)",
    ListOfParameters: r"float32 vector of shape \(4,\).*got list of shape \(4,\)",
    NanParameters: r"policy\.init must give finite numbers, got \[nan",
    InitByClock: r"same parameters for the same random numbers.*draw them from rng",
    InitRaises: r"policy\.init\(rng\) must work, got RuntimeError: no parameters today",
    MatrixOutput: r"float vector.*got float32 of shape \(1, 2\)",
    ListOutput: r"float vector.*got list of shape \(2,\)",
    WholeNumbers: r"float vector.*got int64 of shape \(2,\)",
    NanOutput: r"finite outputs, got \[nan, nan\]",
    ChangesTheta: r"must not modify theta",
    ChangesObservation: r"must not modify its observation",
    ChangesMoments: r"must not modify the moments",
    Shared: r"same outputs for the same observations.*in the function that bind returns",
    Immemorial: r"moments_size must be 2, the observation_size, or 0.*got None",
    RemembersTheta: r"read theta in every call",
    OneOutputMoreWithEveryMoment: r"for any moments.*got shape \(2,\).*\(4,\)",
    WrongMoments: r"bind\(theta, moments\)\(observation\) must work.*shapes",
    Holding: r"cloudpickle must be able to send the policy.*cannot pickle",
    Explodes: r"finite outputs, got \[inf, inf\].*at step 5 of an episode",
    GrowsLonger: r"same number of outputs.*\(1,\) at first and \(2,\) at step 2 of an episode",
    Episodic: r"begin every episode anew.*at step 21 of one episode.*reset what it remembers",
    LearnsLate: r"must not modify theta",
    Forgetful: r"made by cloudpickle, as for the workers, must give the same outputs",
}


@pytest.mark.parametrize("policy", BROKEN_POLICIES, ids=lambda policy: policy.__name__)
def test_a_broken_policy_is_told_what_is_wrong(policy):
    with pytest.raises(ValueError, match=BROKEN_POLICIES[policy]):
        check_policy(policy())


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        (Linear(outputs=3), r"must return 2 numbers.*got an output of shape \(3,\)"),
        (Linear(observation_size=5), r"the 2 numbers of an observation.*is 5; make it 2"),
    ],
)
def test_e5_a_policy_that_does_not_fit_the_task_is_refused(policy, message):
    check_policy(policy)
    with pytest.raises(ValueError, match=message):
        check_policy(policy, corridor())
