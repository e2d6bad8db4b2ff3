"""A task without an environment behind the seam `Evaluate`: b is a map of theta, plus noise."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from nses.core import moments
from nses.core.algorithms import ALGORITHMS, Hyperparameters, Search
from nses.core.archive import Archive
from nses.core.budget import cut
from nses.core.moments import Moments
from nses.core.noise import Table, fill_table, perturb
from nses.core.novelty import novelty
from nses.core.seeding import Purpose, generator
from nses.core.values import Candidates, Evaluation, State

D, DIMENSIONS, LENGTH = 6, 2, 10
SEED = 1
MIX = generator(0, 0, 0, Purpose.POLICY_INIT).standard_normal((DIMENSIONS, D))

Floats = NDArray[np.float64]
Vector = NDArray[np.float32]


def initial_theta(rng: np.random.Generator) -> Vector:
    return (0.3 * rng.standard_normal(D)).astype(np.float32)


def noise_table() -> Table:
    table = np.empty(1 << 12, np.float32)
    fill_table(table, SEED)
    return table


def episode(theta: NDArray[np.floating], seed: int) -> tuple[float, Floats]:
    """f and b. Reward grows towards b = (1, 0), and the noise of the episode is part of b."""
    b = np.tanh(MIX @ theta.astype(np.float64))
    b += 0.05 * generator(seed, 0, 0, Purpose.EPISODE).standard_normal(DIMENSIONS)
    return b[0] - abs(b[1]), b


def episodes(thetas: list[NDArray[np.floating]], seeds: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Returns, (n,), and behaviors, (n, 2)."""
    f, b = zip(*map(episode, thetas, seeds.tolist()), strict=True)
    return np.array(f), np.array(b)


def thetas_of(candidates: Candidates) -> list[Vector]:
    """The n parameter vectors that are meant, as workers make them."""
    if candidates.epsilon is None:
        return [candidates.theta] * len(candidates)
    thetas = np.empty((len(candidates), D), np.float32)
    for i, theta in enumerate(thetas):
        sigma = candidates.sigma if i % 2 == 0 else -candidates.sigma
        perturb(candidates.theta, sigma, candidates.epsilon.row(i // 2), theta)
    return list(thetas)


def make_search(
    algorithm: str,
    *,
    change_returns: Callable[[Floats], Floats] = lambda f: f,
    see: Callable[[Candidates, Archive], None] = lambda candidates, archive: None,
    lengths_of: Callable[[NDArray[np.int64]], NDArray[np.int64]] = lambda s: np.full(
        len(s), LENGTH
    ),
    **hyperparameters: object,
) -> Search:
    """A small search. `change_returns` edits those of the candidates, `see` watches every call.

    `lengths_of` says how long the episodes of seeds are.
    """
    h = Hyperparameters(
        **{"n": 16, "sigma": 0.1, "lr": 0.05, "M": 3, "k": 4, "E": 2, **hyperparameters}  # type: ignore[arg-type]
    )

    def evaluate(candidates: Candidates, archive: Archive) -> Evaluation:
        see(candidates, archive)
        lengths = lengths_of(candidates.seeds)
        n = len(lengths) if candidates.enough is None else cut(lengths, candidates.enough)
        f, b = episodes(thetas_of(candidates)[:n], candidates.seeds[:n])
        merged = moments.nothing(DIMENSIONS)
        if candidates.contributes is not None:
            for o in b[candidates.contributes[:n]]:
                merged = merged.merge(Moments(1.0, o, o**2))
        perturbed = candidates.epsilon is not None
        return Evaluation(
            f=change_returns(f) if perturbed else f,
            N=novelty(b, archive, h.k, h.distance),
            lengths=lengths[:n],
            moments=merged,
            b=None if perturbed else b,
        )

    return Search(
        ALGORITHMS[algorithm], h, SEED, initial_theta, DIMENSIONS, noise_table(), evaluate
    )


def after(search: Search, generations: int) -> State:
    """The last state of a run."""
    *_, (state, _) = search.run(generations=generations)
    return state


def learned(state: State) -> list[bytes]:
    """The bits of theta, optimizers, behaviors, moments and archive."""
    arrays = [state.archive.rows]
    for member in state.members:
        o = member.optimizer
        arrays += [member.theta, np.array(o.t), o.m, o.v, member.behavior]
        arrays += [np.array(member.moments.count), member.moments.sum, member.moments.square]
    return [array.tobytes() for array in arrays]


def everything(state: State) -> list[object]:
    """All the bits of a state."""
    best = state.best
    return [
        *learned(state),
        *(x.tobytes() for x in (best.theta, best.behavior, best.moments.sum)),
        (best.score, best.generation, best.member, state.weights),
        (state.generation, state.episodes, state.env_steps),
    ]
