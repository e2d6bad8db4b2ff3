"""The values that the layers exchange. All are frozen; State holds all that changes in a run."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import inf

import numpy as np
from numpy.typing import NDArray

from nses.core.archive import Archive, Characterization
from nses.core.moments import Moments
from nses.core.noise import Epsilon
from nses.core.optimizers import OptimizerState
from nses.core.traces import is_trace
from nses.core.weight import Weight

LONGEST_REPORTED_BEHAVIOR = 16

Vector = NDArray[np.float32]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Member:
    """One policy of the population, with everything that it needs to act and to learn."""

    theta: Vector
    optimizer: OptimizerState
    moments: Moments
    behavior: Characterization

    def __repr__(self) -> str:
        return f"<member of {self.theta.size:,} parameters after {self.optimizer.t} updates>"


@dataclass(frozen=True, eq=False)
class Start:
    """A policy that has learned something already, for a search to begin with."""

    theta: Vector
    moments: Moments


@dataclass(frozen=True, eq=False)
class Best:
    """The policy with the highest mean evaluation so far, over all generations and members."""

    theta: Vector
    moments: Moments
    behavior: Characterization
    score: float = -inf
    generation: int = 0
    member: int = 0

    def __repr__(self) -> str:
        return f"<score {self.score:g}, generation {self.generation}, member {self.member}>"


@dataclass(frozen=True, eq=False)
class State:
    """Everything that changes during a run: a checkpoint is a State."""

    generation: int
    members: tuple[Member, ...]
    archive: Archive
    weights: tuple[Weight, ...]  # one for all members, or one each
    best: Best
    episodes: int = 0
    env_steps: int = 0
    updated: int | None = None  # the member of the last generation; None before the first one

    def __repr__(self) -> str:
        held = f"{len(self.members)} members, {len(self.archive)} behaviors, best {self.best}"
        return f"<state after {self.generation} generations: {held}>"


@dataclass(frozen=True, eq=False)
class Candidates:
    """Episodes to play, each with theta + sigma * epsilon_i, or with theta if epsilon is None."""

    theta: Vector
    moments: Moments
    seeds: NDArray[np.int64]  # of each episode
    sigma: float = 0.0
    epsilon: Epsilon | None = None
    contributes: NDArray[np.bool_] | None = None  # which episodes report their observations
    before: int = 0  # candidates of the same generation that were played before these
    enough: int | None = None  # steps: only the first pairs that make so many together count
    at_home: bool = False  # in the task itself, not where other perturbed ones play
    variation: int = 0  # of the task, in which they play for their returns alone; 0: the task

    def __len__(self) -> int:
        return len(self.seeds)

    def after(self, before: int, enough: int) -> "Candidates":
        """Perturbed candidates without the first ones, an even number, as more of them."""
        assert self.epsilon is not None
        assert self.contributes is not None
        offsets = self.epsilon.offsets[before // 2 :]
        return replace(
            self,
            seeds=self.seeds[before:],
            epsilon=replace(self.epsilon, offsets=offsets),
            contributes=self.contributes[before:],
            before=before,
            enough=enough,
        )


@dataclass(frozen=True, eq=False)
class Evaluation:
    """The results, in the order of the candidates. A failed candidate has f = NaN."""

    f: Floats  # (n,) returns
    N: Floats  # (n,) novelties of perturbed episodes, which alone are ranked; else 0
    lengths: NDArray[np.int64]  # (n,) steps
    moments: Moments  # of the episodes that contribute, merged in order
    b: Characterization | None = None  # (n, dimensions) or one trace, for unperturbed episodes only
    blown_up: int = 0  # episodes that ended because the simulator gave up
    restarts: int = 0  # workers replaced meanwhile, which does not affect the result
    foreseen: bool | None = None  # whether they had been guessed; None: nobody looked ahead
    idle: float | None = None  # share of the workers' time since the last such call, if known

    def shifted(self, shift: float) -> Floats:
        """f without a constant of every step (Mania et al. 2018); itself in the paper, (n,)."""
        return self.f - shift * self.lengths

    def followed_by(self, more: "Evaluation") -> "Evaluation":
        """That of these candidates and of more of the same generation."""
        return Evaluation(
            f=np.concatenate([self.f, more.f]),
            N=np.concatenate([self.N, more.N]),
            lengths=np.concatenate([self.lengths, more.lengths]),
            moments=self.moments.merge(more.moments),
            blown_up=self.blown_up + more.blown_up,
            restarts=self.restarts + more.restarts,
            foreseen=self.foreseen,
            idle=self.idle,
        )


@dataclass(frozen=True, eq=False)
class Assessment:
    """f(theta) and b(pi_theta) of an unperturbed member, and the episodes behind them."""

    f: float
    b: Characterization
    evaluation: Evaluation


Evaluate = Callable[[Candidates, Archive], Evaluation]


@dataclass(frozen=True)
class Report:
    """One generation in numbers: everything that loggers and dashboards see."""

    generation: int
    member: int
    score: float  # f(theta_{t+1}), mean over the evaluation episodes
    best: float  # highest score so far
    return_mean: float  # over the candidates
    return_best: float
    weight: float
    novelty_mean: float  # NaN where the algorithm does not look at it
    archive_size: int
    episodes: int  # played since the start of the run
    env_steps: int
    failed: int  # episodes without a finite return
    blown_up: int  # episodes that ended because the simulator gave up
    gradient_norm: float
    behavior: tuple[float, ...]  # b(theta_{t+1}); empty if it is long or a trace
    selection: tuple[float, ...]  # P(m), as a rule that of Eq. 1
    restarts: int
    evaluation: Evaluation = field(repr=False, compare=False)  # from which theta_{t+1} follows
    training_mean: float | None = None  # as return_mean, of what was ranked if that is shifted


def reported(b: Characterization) -> tuple[float, ...]:
    """b as a Report has it."""
    return () if is_trace(b) or b.size > LONGEST_REPORTED_BEHAVIOR else tuple(b.tolist())
