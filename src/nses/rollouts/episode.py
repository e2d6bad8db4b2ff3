"""One episode: a policy with given parameters in a task, from a seed."""

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from nses.core.moments import Moments, initial
from nses.core.seeding import Purpose, generator
from nses.errors import UsageError
from nses.rollouts.foreign import Interrupted, seed_global_generators
from nses.rollouts.native.network import take_in
from nses.rollouts.policies import Policy
from nses.rollouts.spaces import Input, Output, input_of, output_of
from nses.rollouts.tasks.gymnasium import is_ours
from nses.rollouts.tasks.task import Task

SLICE = 1000  # steps between checks of whether to stop
FIRST_SLICE = 64  # steps of noise drawn at first: many episodes end early and need no more


@dataclass(frozen=True, eq=False)
class Episode:
    """The result of an episode. An observation that is not finite ends it with the return NaN."""

    f: float
    behavior: NDArray[np.float64] | NDArray[np.uint8]  # a vector, or a trace (steps, bytes)
    length: int
    observed: Moments | None = None  # None unless asked for
    blown_up: bool = False  # whether the simulator gave up


class Player(Protocol):
    """Owns a simulator and plays episodes in it, each a pure function of the arguments."""

    def play(
        self,
        theta: NDArray[np.float32],
        moments: Moments,
        seed: int,
        *,
        action_noise: float = 0.0,
        contributes: bool = False,
    ) -> Episode: ...

    def close(self) -> None: ...


@runtime_checkable
class Interruptible(Protocol):
    """A player that calls should_stop now and then in long episodes, and raises Interrupted."""

    should_stop: Callable[[], bool]


@runtime_checkable
class WarmsUp(Protocol):
    """A player that can compile before its first episode, without affecting that episode."""

    def warm_up(self) -> None: ...


def never() -> bool:
    return False


def player(
    task: Task, policy: Policy, *, native: bool = True, should_stop: Callable[[], bool] = never
) -> Player:
    """The task's compiled loop if it has one for this policy, else its Gymnasium environment."""
    found: Player | None = task.native(task, policy) if native and task.native else None
    if found is None:
        found = GymnasiumPlayer(task, policy)
    if isinstance(found, Interruptible):
        found.should_stop = should_stop
    return found


class ActionNoise:
    """The noise on the actions of a perturbed episode; the same however it is split into draws."""

    def __init__(self, seed: int, scale: float, size: int):
        self.scale, self.size = np.float32(scale), size
        self.rng = generator(seed, 0, 0, Purpose.ACTION_NOISE) if scale else None

    def draw(self, steps: int) -> NDArray[np.float32]:
        """The noise of the next steps, (steps, size); empty without noise."""
        if self.rng is None:
            return np.empty((0, self.size), np.float32)
        return self.rng.standard_normal((steps, self.size), np.float32) * self.scale

    def rows(self, scale: NDArray[np.float32] | None = None) -> Iterator[NDArray[np.float32]]:
        """The noise step by step, drawn as needed, because most episodes end early.

        The scale of each number comes on top, for actions that are only partly continuous.
        """
        steps = FIRST_SLICE
        while True:
            drawn = self.draw(steps)
            yield from drawn if scale is None else drawn * scale
            steps = min(2 * steps, SLICE)


def action_noise_of(seed: int, scale: float, steps: int, size: int) -> NDArray[np.float32]:
    """The noise of a whole episode."""
    return ActionNoise(seed, scale, size).draw(steps)


class GymnasiumPlayer:
    """Plays in a Gymnasium environment, step by step from Python."""

    def __init__(self, task: Task, policy: Policy):
        self.task, self.policy = task, policy
        self.should_stop: Callable[[], bool] = never
        self.foreign = not is_ours(task)
        self.environment = task.make()
        self.input = input_of(self.environment.observation_space)
        self.output = output_of(self.environment.action_space)
        check_shapes(policy, self.input, self.output)

    def play(
        self,
        theta: NDArray[np.float32],
        moments: Moments,
        seed: int,
        *,
        action_noise: float = 0.0,
        contributes: bool = False,
    ) -> Episode:
        steps = self.steps(theta, moments, seed, action_noise=action_noise, contributes=contributes)
        while True:
            try:
                next(steps)
            except StopIteration as end:
                return end.value

    def steps(
        self,
        theta: NDArray[np.float32],
        moments: Moments,
        seed: int,
        *,
        action_noise: float = 0.0,
        contributes: bool = False,
    ) -> Generator[tuple[int, float], None, Episode]:
        """Plays step by step; after the reset and each step, yields steps and return so far."""
        respond, to_action = self.policy.bind(theta, moments), self.output.act
        flatten, step = self.input.flatten, self.environment.step
        limit = self.task.step_limit
        noisy = self.output.continuous and action_noise != 0.0
        noise = ActionNoise(seed, action_noise, self.output.size).rows(self.output.noisy)
        record = self.task.behavior.record(limit)
        sums = np.zeros((2, self.input.size))
        total, length, end = 0.0, 0, False

        if self.foreign:
            seed_global_generators(seed)
        observation, info = self.environment.reset(seed=seed)
        yield length, total
        while not end and length < limit:
            x = flatten(observation)
            if not take_in(x, sums, contributes):
                total = np.nan
                break
            y = respond(x)
            if noisy:
                y = y + next(noise)  # the policy may keep its own y
            observation, reward, terminated, truncated, info = step(to_action(y))
            total += float(reward)
            length += 1
            end = terminated or truncated
            if record.every_step:
                record.see(observation, info)
            if not length % SLICE and self.should_stop():
                raise Interrupted
            yield length, total
        known = length or self.task.behavior.summary == "trace"
        b = record.result(observation, info) if known else _unknown(self.task)
        observed = Moments(length, *sums) if contributes else None
        return Episode(total, b, length, observed, bool(info.get("blown_up", False)))

    def warm_up(self) -> None:
        """Compiles. A foreign environment is left alone, since it may remember episodes."""
        take_in(np.zeros(self.input.size), np.zeros((2, self.input.size)), False)
        if not self.foreign:
            theta = np.zeros(self.policy.size, np.float32)
            steps = self.steps(theta, initial(self.policy.moments_size), seed=0)
            next(steps)
            next(steps)
            steps.close()

    def close(self) -> None:
        self.environment.close()


def check_shapes(policy: Policy, inputs: Input, outputs: Output) -> None:
    """UsageError unless a policy fits the observations and actions of a task.

    Checked once, before the first step, because compiled code does not check bounds.
    """
    if policy.observation_size != inputs.size:
        raise UsageError(
            f"the policy must take the {inputs.size} numbers of an observation, but its "
            f"observation_size is {policy.observation_size}; make it {inputs.size}."
        )
    theta = policy.init(generator(0, 0, 0, Purpose.POLICY_INIT))
    y = policy.bind(theta, initial(policy.moments_size))(np.zeros(inputs.size))
    if np.shape(y) != (outputs.size,):
        raise UsageError(
            f"the policy must return {outputs.size} numbers, one per action dimension or choice, "
            f"got an output of shape {np.shape(y)}."
        )


def _unknown(task: Task) -> NDArray[np.float64]:
    """The behavior of an episode that broke before its first step; a trace is never empty."""
    return np.full(task.behavior_size, np.nan)
