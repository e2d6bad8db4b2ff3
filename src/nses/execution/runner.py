"""What a worker needs to know once, and the simulator it plays in."""

import logging
import traceback
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np

from nses.core.archive import Archive, archive_of
from nses.core.moments import Moments
from nses.core.noise import perturb
from nses.core.novelty import novelty
from nses.core.traces import as_trace
from nses.core.values import Vector
from nses.errors import UsageError
from nses.rollouts.episode import Episode, Player, WarmsUp, never, player
from nses.rollouts.foreign import errors_only
from nses.rollouts.policies import Policy
from nses.rollouts.tasks.task import Task

log = logging.getLogger("nses")


@dataclass(frozen=True, eq=False)
class Plan:
    """How episodes are played: what a worker needs to know once."""

    task: Task
    policy: Policy
    k: int
    distance: str = "squared-euclidean"
    action_noise: float = 0.0
    native: bool = True
    finite_behaviors: bool = True  # whether an episode without a finite behavior has failed
    training: Task | None = None  # what candidates play, if it is not the task itself

    @property
    def compiled(self) -> bool:
        """Whether all that is played can be a compiled loop, which runs no code of a user."""
        tasks = (self.task, self.training or self.task, *self.task.variations.values())
        return self.native and all(task.native is not None for task in tasks)

    @property
    def traces(self) -> bool:
        """Whether behaviors are traces, which differ in length and so have no column in rows."""
        return self.task.behavior.summary == "trace"

    @property
    def behavior_size(self) -> int:
        return 0 if self.traces else self.task.behavior_size

    @property
    def moments_size(self) -> int:
        return self.policy.moments_size


def check_behavior(plan: Plan, b: Any) -> None:
    """UsageError if a behavior has the wrong shape: NumPy would repeat its numbers to fit."""
    name, size = plan.task.behavior.name, plan.behavior_size
    if plan.traces:
        as_trace(b)
    elif np.shape(b) != (size,):
        raise UsageError(
            f"behavior {name!r} must have {size} numbers, shape ({size},), got shape {np.shape(b)};"
            " return the same number in every episode."
        )


class Runner:
    """Plays episodes one after the other; every backend is made of these."""

    def __init__(self, plan: Plan, should_stop: Callable[[], bool] = never):
        self.plan, self.should_stop = plan, should_stop
        self.theta = np.empty(plan.policy.size, np.float32)
        self.shape = None if plan.traces else (plan.behavior_size,)  # of behaviors that have one
        self.failed_to_close = False
        self._open()

    def _open(self) -> None:
        self.player = self._player(self.plan.task)
        other = self.plan.training
        self.trainer = None if other is None else self._player(other)
        self.elsewhere: dict[int, Player] = {}  # in variations of the task

    def _player(self, task: Task) -> Player:
        plan = self.plan
        with errors_only():
            return player(task, plan.policy, native=plan.native, should_stop=self.should_stop)

    @property
    def players(self) -> list[Player]:
        trainers = [] if self.trainer is None else [self.trainer]
        return [self.player, *trainers, *self.elsewhere.values()]

    def player_of(self, variation: int) -> Player:
        """Of the task itself, or of a variation, which nobody plays before the end of a run."""
        if variation and variation not in self.elsewhere:
            task = list(self.plan.task.variations.values())[variation - 1]
            self.elsewhere[variation] = self._player(task)
        return self.elsewhere[variation] if variation else self.player

    def warm_up(self) -> None:
        """Compile what an episode needs, before any deadline starts to run."""
        for one in self.players:
            if isinstance(one, WarmsUp):
                one.warm_up()
        theta = np.zeros_like(self.theta)
        perturb(theta, 0.0, theta, self.theta)
        if self.plan.traces:
            trace = np.zeros((1, 1), np.uint8)
            self.novelty(trace, archive_of([trace]))
        else:
            b = np.zeros((1, self.plan.behavior_size))
            self.novelty(b, archive_of(b))

    def play(
        self,
        theta: Vector,
        moments: Moments,
        seed: int,
        *,
        action_noise: float = 0.0,
        contributes: bool = False,
        training: bool = False,
        variation: int = 0,
    ) -> Episode:
        """One episode; if the environment raises, once more with the same seed in a new one."""
        for attempt in (1, 2):
            try:
                trainer = self.trainer if training else None
                chosen = trainer or self.player_of(variation)
                with errors_only():
                    episode = chosen.play(
                        theta, moments, seed, action_noise=action_noise, contributes=contributes
                    )
                shape = self.shape if variation else getattr(episode.behavior, "shape", ())
                if shape != self.shape:  # a quick look first
                    check_behavior(self.plan, episode.behavior)
                return episode
            except MemoryError:
                raise
            except Exception:
                if attempt == 2:
                    raise
                self.close()
                self._open()
        raise AssertionError

    def novelty(self, b: Any, A: Archive) -> Any:
        return novelty(b, A, self.plan.k, self.plan.distance)

    def close(self, say: bool = True) -> None:
        """Close the environment. Failing to close does no harm by now, and is logged once."""
        try:
            with errors_only(), ExitStack() as stack:
                for one in self.players:
                    stack.callback(one.close)
        except Exception:
            if say and not self.failed_to_close:
                log.warning("an environment failed to close:\n%s", traceback.format_exc().rstrip())
            self.failed_to_close = True
