"""Conti et al. 2018: ES, NS-ES, NSR-ES and NSRA-ES are four rows of one table around one step."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from math import nan
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from nses.core import archive, moments, optimizers
from nses.core.archive import Archive, Characterization
from nses.core.budget import likely
from nses.core.foresight import Foresee, ignore, likely_next
from nses.core.hyperparameters import Hyperparameters
from nses.core.noise import Epsilon, Table, sample
from nses.core.novelty import novelty
from nses.core.optimizers import OPTIMIZERS
from nses.core.ranks import centered_ranks
from nses.core.seeding import Purpose, assessment_seeds, episode_seeds, evaluation_seeds, generator
from nses.core.selection import SELECTIONS, select
from nses.core.traces import is_trace
from nses.core.values import (
    Assessment,
    Best,
    Candidates,
    Evaluate,
    Evaluation,
    Floats,
    Member,
    Report,
    Start,
    State,
    Vector,
    reported,
)
from nses.core.weight import Weight, adapt, keep
from nses.errors import NotFinite

NOTHING = archive.archive_of([])  # to measure N against where nobody looks at it

T = TypeVar("T")


@dataclass(frozen=True)
class Algorithm:
    """Where the four differ: the objective (f and N are ranks), and how w moves."""

    name: str
    objective: Callable[[Floats, Floats, float], Floats]
    w: float | None  # the weight that the objective implies; None if it is a hyperparameter
    adapt: Callable[..., Weight]
    population: bool  # whether it has M members, or one
    novelty: bool = True  # whether its objective looks at N, which is not measured otherwise


# fmt: off
ALGORITHMS = {
    row.name: row
    for row in (
        #         name       F_i                                  w_0   w_{t+1}  M > 1  N
        Algorithm("es",      lambda f, N, w: f,                   1.0,  keep,    False, False),
        Algorithm("ns-es",   lambda f, N, w: N,                   0.0,  keep,    True),
        Algorithm("nsr-es",  lambda f, N, w: (f + N) / 2,         0.5,  keep,    True),
        Algorithm("nsra-es", lambda f, N, w: w * f + (1 - w) * N, None, adapt,   True),
    )
}
# fmt: on


def initial_weights(algorithm: Algorithm, h: Hyperparameters) -> tuple[Weight, ...]:
    """One for all members, or one each."""
    w = h.w if algorithm.w is None else algorithm.w
    return (Weight(w=w),) * (h.M if h.weight_per_member else 1)


def near(theta: Vector, sigma: float, rng: np.random.Generator) -> Vector:
    """Another policy to begin with, (d,), a perturbation away from theta."""
    away = np.float32(sigma) * rng.standard_normal(theta.size, np.float32)
    return (theta + away).astype(np.float32)


def objective(algorithm: Algorithm, f: Floats, N: Floats, w: float, ordinal: bool) -> Floats:
    """F, (n,), from ranked f and ranked N; a pair with a value that is not finite gets 0."""
    finite = np.isfinite(f) & np.isfinite(N)
    valid = np.repeat(finite[::2] & finite[1::2], 2)
    F = np.zeros(len(f))
    F[valid] = algorithm.objective(
        centered_ranks(f[valid], ordinal=ordinal), centered_ranks(N[valid], ordinal=ordinal), w
    )
    return F


def ascend(member: Member, g: NDArray[np.float64], h: Hyperparameters) -> Member:
    """theta_{t+1} by one step of the optimizer along g - (l2 / sigma) theta (adr/0001)."""
    with np.errstate(over="ignore", invalid="ignore"):  # the result is checked below
        direction = g - (h.l2 / h.sigma) * member.theta
        theta, state = OPTIMIZERS[h.optimizer](member.theta, direction, member.optimizer, h.lr)
    if not all(np.isfinite(x).all() for x in (theta, state.m, state.v)):
        raise NotFinite("the update of theta is not finite and was not applied")
    return replace(member, theta=theta, optimizer=state)


@dataclass(frozen=True)
class Search:
    """An algorithm with its settings and its two plug-ins; `init` and `step` are pure."""

    algorithm: Algorithm
    hyperparameters: Hyperparameters
    seed: int
    initial_theta: Callable[[np.random.Generator], Vector]
    moments_size: int  # numbers in an observation, for the moments that each member keeps
    noise: Table
    evaluate: Evaluate
    threads: int = 1  # for the gradient sum; any number gives the same bits
    starts: tuple[int, ...] = ()  # a seed for each start of an episode, if there are finitely many
    weighted_sum: Callable[[Epsilon, Floats, int], Floats] = Epsilon.weighted_sum  # or elsewhere
    start: Start | None = None  # where the members begin, if not at random
    foresee: Foresee = ignore  # what will probably be played next: a hint, which may be ignored

    def init(self) -> State:
        """M members, each initialised differently; their behaviors are the first in the archive."""
        h = self.hyperparameters
        members: list[Member] = []
        assessed: list[Assessment] = []
        for j in range(h.M):
            member = self.newborn(j)
            assessed.append(self._assess(member, 0, j, NOTHING))
            members.append(replace(member, behavior=assessed[j].b))
        A = archive.archive_of([x.b for x in assessed])
        j = max(range(h.M), key=lambda j: assessed[j].f)
        best = Best(members[j].theta, members[j].moments, members[j].behavior, assessed[j].f, 0, j)
        weights = initial_weights(self.algorithm, h)
        episodes, env_steps = _cost([x.evaluation for x in assessed])
        return State(0, tuple(members), A, weights, best, episodes, env_steps)

    # Long because it is the paper's pseudo-code: one generation, read from top to bottom.
    def step(self, state: State) -> tuple[State, Report]:
        """One generation: select a member, perturb, play, rank, ascend, evaluate, archive."""
        h, t = self.hyperparameters, state.generation
        A = state.archive if self.algorithm.novelty else NOTHING

        b, looked = self._member_behaviors(state)
        alone = len(b) == 1  # and chosen, however novel
        N = np.ones(1) if alone else novelty(b, state.archive, h.k, h.distance)
        P = SELECTIONS[h.selection](N, t)
        m = select(P, self.seed, t)
        member, i_w = state.members[m], m if h.weight_per_member else 0
        w = state.weights[i_w].w

        soon = likely_next(N, h.selection, self.seed, t + 1)  # a guess, for idle workers only
        if soon != m:
            self.foresee(t + 1, partial(self.perturb, state.members[soon], t + 1))
        candidates, e = self._play(member, t, A)  # f_i and N_i = N(b_i, A)
        member, g = self.update(member, t, candidates, e, w)
        if soon == m:
            self.foresee(t + 1, partial(self.perturb, member, t + 1))

        new = self._assess(member, t + 1, m, A)  # f and b of theta_{t+1}
        member = replace(member, behavior=new.b)
        weight = self.algorithm.adapt(
            state.weights[i_w], new.f, t_w=h.t_w, delta_w=h.delta_w, min_gain=h.min_gain
        )
        best = state.best
        if new.f > best.score:
            best = Best(member.theta, member.moments, new.b, new.f, t + 1, m)

        played = [*looked, e, new.evaluation]
        episodes, env_steps = _cost(played)
        state = State(
            generation=t + 1,
            members=_replaced(state.members, m, member),
            archive=state.archive.append(new.b),
            weights=_replaced(state.weights, i_w, weight),
            best=best,
            episodes=state.episodes + episodes,
            env_steps=state.env_steps + env_steps,
            updated=m,
        )
        finite = e.f[np.isfinite(e.f)]
        return state, Report(
            generation=t + 1,
            member=m,
            score=new.f,
            best=best.score,
            return_mean=float(finite.mean()),
            return_best=float(finite.max()),
            weight=w,
            novelty_mean=float(e.N[np.isfinite(e.f)].mean()) if self.algorithm.novelty else nan,
            archive_size=len(state.archive),
            episodes=state.episodes,
            env_steps=state.env_steps,
            failed=sum(int((~np.isfinite(x.f)).sum()) for x in played),
            blown_up=sum(x.blown_up for x in played),
            gradient_norm=float(np.sqrt((g * g).sum())),
            behavior=reported(new.b),
            selection=tuple(P.tolist()),
            restarts=sum(x.restarts for x in played),
            evaluation=e,
            training_mean=float(np.nanmean(e.shifted(h.shift))) if h.shift else None,
        )

    def run(
        self, state: State | None = None, generations: int | None = None
    ) -> Iterator[tuple[State, Report]]:
        """Generation after generation, from `state` or the start, until `generations` are done."""
        state = self.init() if state is None else state
        while generations is None or state.generation < generations:
            state, report = self.step(state)
            yield state, report

    def newborn(self, j: int) -> Member:
        """theta_0 of member j, which has not played yet: random, or near the start if there is one.

        Member 0 is the start itself.
        """
        rng = generator(self.seed, 0, j, Purpose.POLICY_INIT)
        if self.start is None:
            theta, seen = self.initial_theta(rng), moments.initial(self.moments_size)
        else:
            theta, seen = self.start.theta, self.start.moments
            theta = near(theta, self.hyperparameters.sigma, rng) if j else theta
        return Member(theta, optimizers.initial(theta.size), seen, np.empty(0))

    def update(
        self, member: Member, t: int, candidates: Candidates, e: Evaluation, w: float
    ) -> tuple[Member, Floats]:
        """theta_{t+1}, from the candidates' evaluation, and the gradient estimate g."""
        h = self.hyperparameters.after(t)
        assert candidates.epsilon is not None
        F = objective(self.algorithm, e.shifted(h.shift), e.N, w, h.ordinal_ranks)
        g = self.weighted_sum(candidates.epsilon, F, self.threads)
        g /= len(F) * h.sigma  # Sec. 2.1, adr/0001
        member = ascend(member, g, h)
        return replace(member, moments=member.moments.merge(e.moments)), g

    def perturb(self, member: Member, t: int, n: int | None = None) -> Candidates:
        """theta + sigma epsilon_i, mirrored, one episode each. The i-th does not depend on n."""
        h = self.hyperparameters.after(t)
        n = n or h.n
        chance = generator(self.seed, t, 0, Purpose.MOMENTS).random(n)
        return Candidates(
            theta=member.theta,
            moments=member.moments,
            seeds=episode_seeds(self.seed, t, 0, Purpose.EPISODE, n),
            sigma=h.sigma,
            epsilon=sample(self.noise, member.theta.size, n, self.seed, t),
            contributes=chance < h.moments_probability,
            at_home=h.at_home(t),
        )

    def retest(self, best: Best, episodes: int) -> Evaluation:
        """Fresh episodes of the best policy: its score is a maximum of noisy means, so too high."""
        seeds = evaluation_seeds(self.seed, 0, 0, Purpose.RETEST, episodes, self.starts)
        return self.evaluate(Candidates(best.theta, best.moments, seeds), NOTHING)

    def _play(self, member: Member, t: int, A: Archive) -> tuple[Candidates, Evaluation]:
        """n candidates, and more where these have not made the steps of a generation yet."""
        h = self.hyperparameters
        candidates = self.perturb(member, t)
        e = self.evaluate(candidates, A)
        while (missing := h.steps_per_generation - int(e.lengths.sum())) > 0:
            n = len(e.f)
            more = self.perturb(member, t, n + likely(e.lengths, missing)).after(n, missing)
            e = e.followed_by(self.evaluate(more, A))
        return candidates if len(e.f) == h.n else self.perturb(member, t, len(e.f)), e

    def _assess(
        self, member: Member, t: int, m: int, A: Archive, purpose: Purpose = Purpose.EVALUATION
    ) -> Assessment:
        """f and b of an unperturbed member: means over episodes; if b is a trace, the first."""
        h = self.hyperparameters
        of_b = h.behavior_episodes or h.E
        episodes = of_b if purpose is Purpose.FRESH_BEHAVIOR else max(h.E, of_b)
        seeds = assessment_seeds(self.seed, t, m, purpose, episodes, self.starts)
        e = self.evaluate(Candidates(member.theta, member.moments, seeds), A)
        assert e.b is not None
        played = np.flatnonzero(np.isfinite(e.f))
        b = e.b if is_trace(e.b) else archive.mean(e.b[played[:of_b]])
        return Assessment(float(e.f[played[: h.E]].mean()), b, e)

    def _member_behaviors(self, state: State) -> tuple[list[Characterization], list[Evaluation]]:
        """The members' last known behaviors, or those of fresh episodes."""
        if self.hyperparameters.selection != "fresh":
            return [member.behavior for member in state.members], []
        fresh = [
            self._assess(member, state.generation, m, state.archive, Purpose.FRESH_BEHAVIOR)
            for m, member in enumerate(state.members)
        ]
        return [x.b for x in fresh], [x.evaluation for x in fresh]


def _cost(played: list[Evaluation]) -> tuple[int, int]:
    """Episodes and environment steps."""
    return sum(len(e.f) for e in played), sum(int(e.lengths.sum()) for e in played)


def _replaced(items: tuple[T, ...], i: int, item: T) -> tuple[T, ...]:
    return (*items[:i], item, *items[i + 1 :])
