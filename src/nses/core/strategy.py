"""Ask and tell, for people who bring their own evaluation."""

from dataclasses import replace
from math import nan
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nses.core import archive, moments, noise, optimizers
from nses.core.algorithms import (
    ALGORITHMS,
    Hyperparameters,
    ascend,
    objective,
    select,
    selection_probabilities,
)
from nses.core.novelty import novelty
from nses.core.seeding import Purpose, generator
from nses.core.values import Best, Member
from nses.core.weight import Weight


class Strategy:
    """One generation is `tell(*evaluate(ask()))`.

    `ask()` returns the vectors to evaluate, (rows, d): first the unperturbed members that are not
    measured yet (all in the first generation, then the one just updated), then n candidates.
    `tell` takes a return and a behavior for each, in that order. Since an updated member is
    measured together with the next candidates, it is chosen by what was known before (adr/0004).

    theta is one vector, (d,), or one per member, (M, d). From one vector, the other members start
    a perturbation away. Further keywords are those of `nses.Hyperparameters`.
    """

    def __init__(
        self,
        algorithm: str,
        theta: ArrayLike,
        *,
        n: int,
        sigma: float = 0.02,
        k: int = 10,
        seed: int = 0,
        members: int | None = None,
        **hyperparameters: Any,
    ):
        if algorithm not in ALGORITHMS:
            raise ValueError(
                f"algorithm must be one of {', '.join(ALGORITHMS)}, got {algorithm!r}."
            )
        if n < 2 or n % 2:
            raise ValueError(
                f"n must be even and at least 2 because candidates are mirrored, got n={n}; "
                f"try n={max(2, n + n % 2)}."
            )
        if not (sigma > 0 and k >= 1):
            raise ValueError(f"sigma must be positive and k at least 1, got {sigma=}, {k=}.")
        self.algorithm, self.seed = ALGORITHMS[algorithm], seed
        population = members or (5 if self.algorithm.population else 1)
        thetas = _population(
            theta, None if members is None else population, population, sigma, seed
        )
        self.hyperparameters = Hyperparameters(
            n=n, sigma=sigma, k=k, M=len(thetas), **hyperparameters
        )
        self.members = tuple(
            Member(row, optimizers.initial(row.size), moments.nothing(0), np.full(1, nan))
            for row in thetas
        )
        self.d = thetas.shape[1]
        self.table = np.empty(noise.table_size(self.d), np.float32)
        noise.fill_table(self.table, seed)
        self.generation = 0
        self.archive = archive.empty(0)
        self.weights = (Weight(w=self.hyperparameters.w),) * (
            len(thetas) if self.hyperparameters.weight_per_member else 1
        )
        self.best = Best(thetas[0], moments.nothing(0), np.full(1, nan))
        self.unmeasured = tuple(range(len(thetas)))
        self.chosen = -1  # the member whose candidates are out, -1 between tell and ask

    def ask(self) -> NDArray[np.float32]:
        """The parameter vectors to evaluate next; the same ones until they are told."""
        h = self.hyperparameters
        if self.generation == 0:
            N = np.zeros(h.M)
        else:
            b = np.stack([member.behavior for member in self.members])
            N = novelty(b, self.archive, h.k, h.distance)
        self.chosen = select(selection_probabilities(N), self.seed, self.generation)
        epsilon = self._epsilon()
        rows = np.empty((len(self.unmeasured) + h.n, self.d), np.float32)
        for row, m in enumerate(self.unmeasured):
            rows[row] = self.members[m].theta
        theta, candidates = self.members[self.chosen].theta, rows[len(self.unmeasured) :]
        for i in range(h.n):
            noise.perturb(theta, h.sigma * (1 - 2 * (i % 2)), epsilon.row(i // 2), candidates[i])
        return rows

    def tell(self, returns: ArrayLike, behaviors: ArrayLike) -> None:
        """Learn from a return, (rows,), and a behavior, (rows, dimensions), of each vector asked.

        A candidate that could not be evaluated has the return NaN.
        """
        h, known = self.hyperparameters, len(self.unmeasured)
        f = np.array(returns, np.float64)
        b = np.array(behaviors, np.float64)
        b = b.reshape(len(b), -1) if b.ndim else b
        if self.chosen < 0:
            raise ValueError("tell() needs the vectors of an ask() before it.")
        if f.shape != (known + h.n,) or len(b) != len(f):
            raise ValueError(
                f"tell() takes a return and a behavior for each of the {known + h.n} vectors "
                f"asked, got {f.shape} returns and {b.shape} behaviors."
            )
        if not (np.isfinite(f[:known]).all() and np.isfinite(b[:known]).all()):
            raise ValueError("the unperturbed members (the first rows) need finite results.")
        for row, m in enumerate(self.unmeasured):
            self._measured(m, float(f[row]), b[row])
        N = np.full(h.n, nan)
        valid = np.isfinite(f[known:]) & np.isfinite(b[known:]).all(axis=1)
        N[valid] = novelty(b[known:][valid], self.archive, h.k, h.distance)

        m, w = self.chosen, self.weights[self._weight_of(self.chosen)].w
        F = objective(self.algorithm, f[known:], N, w, h.ordinal_ranks)
        g = self._epsilon().weighted_sum(F) / (h.n * h.sigma)
        self._set_member(m, ascend(self.members[m], g, h))
        self.generation += 1
        self.unmeasured, self.chosen = (m,), -1

    def _measured(self, m: int, f: float, b: NDArray[np.float64]) -> None:
        """f(theta) and b of an unperturbed member: archive, weight and best policy learn of it."""
        h = self.hyperparameters
        self._set_member(m, replace(self.members[m], behavior=b))
        A = self.archive if len(self.archive) else archive.empty(b.size)
        self.archive = A.append(b)
        if f > self.best.score:
            member = self.members[m]
            self.best = Best(member.theta, member.moments, b, f, self.generation, m)
        if self.generation > 0:
            i = self._weight_of(m)
            weight = self.algorithm.adapt(
                self.weights[i], f, t_w=h.t_w, delta_w=h.delta_w, min_gain=h.min_gain
            )
            self.weights = (*self.weights[:i], weight, *self.weights[i + 1 :])

    def _weight_of(self, m: int) -> int:
        return m if self.hyperparameters.weight_per_member else 0

    def _set_member(self, m: int, member: Member) -> None:
        self.members = (*self.members[:m], member, *self.members[m + 1 :])

    def _epsilon(self) -> noise.Epsilon:
        return noise.sample(self.table, self.d, self.hyperparameters.n, self.seed, self.generation)


def _population(
    theta: ArrayLike, asked: int | None, default: int, sigma: float, seed: int
) -> NDArray[np.float32]:
    """The members' first parameters, (M, d)."""
    rows = np.array(theta, np.float32)
    if rows.ndim == 2:
        if asked is not None and asked != len(rows):
            raise ValueError(f"theta has {len(rows)} rows, one per member, but members={asked}.")
        return rows
    if rows.ndim != 1 or rows.size == 0:
        raise ValueError(f"theta must be a vector (d,) or one per member (M, d), got {rows.shape}.")
    others = [
        rows + np.float32(sigma) * rng.standard_normal(rows.size, np.float32)
        for rng in (generator(seed, 0, j, Purpose.POLICY_INIT) for j in range(1, default))
    ]
    return np.stack([rows, *others]).astype(np.float32)
