"""Ask and tell, for users who evaluate candidates themselves."""

import json
from collections.abc import Sequence
from dataclasses import replace
from math import nan
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nses.core import archive, moments, noise, optimizers
from nses.core.algorithms import (
    ALGORITHMS,
    ascend,
    initial_weights,
    near,
    objective,
)
from nses.core.archive import Characterization
from nses.core.distances import TRACE_DISTANCES
from nses.core.novelty import novelty
from nses.core.seeding import Purpose, generator
from nses.core.selection import SELECTIONS, select
from nses.core.traces import Trace, as_traces, is_trace
from nses.core.values import Best, Member, State
from nses.errors import CheckpointRefused, UsageError
from nses.experiment.runs.checkpoint import load_alone, refuse_misfits, save_alone
from nses.experiment.runs.encoding import take_apart
from nses.experiment.settings.build import hyperparameters_of
from nses.experiment.settings.config import (
    SETTINGS,
    Config,
    changed,
    from_dict,
    members_of,
    to_dict,
)
from nses.experiment.settings.memory import total_bytes
from nses.words import short

KIND = "strategy"  # of file

# Settings of tasks, policies and runs, which a Strategy does not have.
UNUSED = {name for name, known in SETTINGS.items() if known.symbol is None or known.episodes}


class Strategy:
    """One generation is `tell(*evaluate(ask()))`.

    `ask()` returns the vectors to evaluate, (rows, d): first the unperturbed members that have not
    been measured yet (in the first generation all, later the one just updated), then n candidates.
    `tell` takes a return and a behavior for each, in that order. An updated member is measured
    together with the next candidates, so selection still uses its previous behavior (adr/0004).

    theta is one vector, (d,), or one per member, (M, d). Given one vector, the other members start
    a perturbation away from it. Further keywords are the settings of the algorithm, named as in
    `nses train --help`: lr, l2, optimizer, members, weight_patience, distance, ...
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
        **settings: Any,
    ):
        if algorithm not in ALGORITHMS:
            raise UsageError(
                f"algorithm must be one of {', '.join(ALGORITHMS)}, got {algorithm!r}."
            )
        members = settings.pop("members", None)
        for name in set(settings) & UNUSED:
            raise UsageError(f"{name} is no setting of a Strategy, which plays no episodes itself.")
        if settings.get("selection") == "fresh":
            raise UsageError("selection 'fresh' plays new episodes, which a Strategy cannot do.")
        thetas = _population(theta, members, members_of(algorithm, 5), sigma, seed)
        config = changed(
            Config(task="ask-tell"),
            {"algorithm": algorithm, "n": n, "sigma": sigma, "k": k, "seed": seed}
            | {"members": len(thetas)}
            | settings,
        )
        self.config = config
        self.algorithm, self.seed = ALGORITHMS[algorithm], config.seed
        self.hyperparameters = hyperparameters_of(config, config.distance or "squared-euclidean")
        self.members = tuple(
            Member(row, optimizers.initial(row.size), moments.nothing(0), np.full(1, nan))
            for row in thetas
        )
        self.d = thetas.shape[1]
        asked = 4 * self.d * (config.n + len(thetas))
        if asked > total_bytes():
            raise UsageError(
                f"ask() would return {config.n + len(thetas):,} vectors of {self.d:,} numbers, "
                f"{asked / 1e9:,.1f} GB, but this machine has {total_bytes() / 1e9:,.1f} GB; "
                "lower n."
            )
        self.table = np.empty(noise.table_size(self.d), np.float32)
        noise.fill_table(self.table, seed)
        self.generation = 0
        self.archive = archive.empty(0)
        self.weights = initial_weights(self.algorithm, self.hyperparameters)
        self.best = Best(thetas[0], moments.nothing(0), np.full(1, nan))
        self.unmeasured = tuple(range(len(thetas)))
        self.chosen = -1  # the member whose candidates are out, -1 between tell and ask

    def __repr__(self) -> str:
        size = f"{len(self.members)} × {self.d:,} parameters"
        best = f"best {short(self.best.score)}"
        return f"<{self.algorithm.name} strategy: generation {self.generation}, {size}, {best}>"

    def save(self, path: str | Path) -> None:
        """Store everything in one file, from which `load` goes on exactly."""
        state = State(self.generation, self.members, self.archive, self.weights, self.best)
        pending = {"unmeasured": list(self.unmeasured), "chosen": self.chosen}
        texts = {"config": json.dumps(to_dict(self.config)), "pending": json.dumps(pending)}
        save_alone(Path(path), KIND, *take_apart(State, state, (KIND,)), texts)

    @classmethod
    def load(cls, path: str | Path) -> "Strategy":
        """The strategy that `save` stored; CheckpointRefused if the file is damaged."""
        state, texts = load_alone(Path(path), KIND, State)
        try:
            refuse_misfits(state)
            config = from_dict(json.loads(texts["config"]))
            thetas = np.stack([member.theta for member in state.members])
            strategy = cls(config.algorithm, thetas, **_settings(config))
            strategy._continue(state, **json.loads(texts["pending"]))
        except (CheckpointRefused, KeyError, TypeError, ValueError, RecursionError) as error:
            raise CheckpointRefused(f"{path} is not a stored strategy: {error}") from error
        return strategy

    def _continue(self, state: State, unmeasured: list[int], chosen: int) -> None:
        known = range(len(self.members))
        if not {*unmeasured} <= {*known} or chosen not in (-1, *known):
            raise CheckpointRefused("it names members that it does not have")
        self.generation, self.members = state.generation, state.members
        self.archive, self.weights, self.best = state.archive, state.weights, state.best
        self.unmeasured, self.chosen = tuple(unmeasured), chosen

    def ask(self) -> NDArray[np.float32]:
        """The parameter vectors to evaluate next; the same ones again until `tell` is called."""
        h = self.hyperparameters.after(self.generation)
        if self.generation == 0 or h.M == 1:  # nothing is known, or nothing to choose
            N = np.zeros(h.M)
        else:
            b = [member.behavior for member in self.members]
            N = novelty(b, self.archive, h.k, h.distance)
        P = SELECTIONS[h.selection](N, self.generation)
        self.chosen = select(P, self.seed, self.generation)
        epsilon = self._epsilon()
        rows = np.empty((len(self.unmeasured) + h.n, self.d), np.float32)
        for row, m in enumerate(self.unmeasured):
            rows[row] = self.members[m].theta
        theta, candidates = self.members[self.chosen].theta, rows[len(self.unmeasured) :]
        for i in range(h.n):
            noise.perturb(theta, h.sigma * (1 - 2 * (i % 2)), epsilon.row(i // 2), candidates[i])
        return rows

    def tell(self, returns: ArrayLike, behaviors: ArrayLike | Sequence[Trace]) -> None:
        """Learn from the returns, (rows,), and behaviors, (rows, dimensions), of the vectors asked.

        For the distances ram and ram-total, behaviors are a list of traces, uint8 (steps, bytes).
        Give NaN as the return of a candidate that could not be evaluated.
        """
        h, known = self.hyperparameters, len(self.unmeasured)
        f = np.array(returns, np.float64)
        b = _rows(behaviors, h.distance)
        if self.chosen < 0:
            raise UsageError("tell() must follow an ask().")
        if f.shape != (known + h.n,) or len(b) != len(f):
            raise UsageError(
                f"tell() takes a return and a behavior for each of the {known + h.n} vectors "
                f"asked, got {f.shape} returns and {len(b)} behaviors."
            )
        played = np.isfinite(f)
        if self.algorithm.novelty:
            played &= np.array([is_trace(x) or np.isfinite(x).all() for x in b])
        if not played[:known].all():
            raise UsageError("the unperturbed members (the first rows) need finite results.")
        before = dict(vars(self))
        try:
            self._learn(f, b, played)
        except BaseException:  # as if tell() had not been called
            vars(self).update(before)
            raise

    def _learn(
        self, f: NDArray[np.float64], b: Sequence[Characterization], played: NDArray[np.bool_]
    ) -> None:
        h, known = self.hyperparameters.after(self.generation), len(self.unmeasured)
        for row, m in enumerate(self.unmeasured):
            self._measured(m, float(f[row]), b[row].copy())
        N = np.where(played[known:], 0.0, nan)
        valid = np.flatnonzero(played[known:]).tolist()
        if valid and self.algorithm.novelty:
            N[valid] = novelty([b[known + i] for i in valid], self.archive, h.k, h.distance)

        m, w = self.chosen, self.weights[self._weight_of(self.chosen)].w
        F = objective(self.algorithm, f[known:], N, w, h.ordinal_ranks)
        g = self._epsilon().weighted_sum(F) / (h.n * h.sigma)
        self._set_member(m, ascend(self.members[m], g, h))
        self.generation += 1
        self.unmeasured, self.chosen = (m,), -1

    def _measured(self, m: int, f: float, b: Characterization) -> None:
        """Update archive, weight and best policy by f(theta) and b of an unperturbed member."""
        h = self.hyperparameters
        self._set_member(m, replace(self.members[m], behavior=b))
        self.archive = self.archive.append(b)
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


def _settings(config: Config) -> dict[str, Any]:
    """As keywords of a Strategy."""
    names = set(SETTINGS) - UNUSED - {"task", "algorithm"} | {"seed"}
    return {name: getattr(config, name) for name in names}


def _rows(behaviors: Any, distance: str) -> Sequence[Characterization]:
    """The behaviors one by one, as vectors or as traces."""
    if distance in TRACE_DISTANCES:
        return as_traces(behaviors)
    b = np.array(behaviors, np.float64)
    return list(b.reshape(len(b), -1) if b.ndim else b.reshape(1, 1))


def _population(
    theta: ArrayLike, members: int | None, default: int, sigma: float, seed: int
) -> NDArray[np.float32]:
    """The members' first parameters, (M, d)."""
    rows = np.array(theta, np.float32)
    if rows.ndim == 2:
        if members is not None and members != len(rows):
            raise UsageError(f"theta has {len(rows)} rows, one per member, but members={members}.")
        return rows
    if rows.ndim != 1 or rows.size == 0:
        raise UsageError(f"theta must be a vector (d,) or one per member (M, d), got {rows.shape}.")
    others = [
        near(rows, sigma, generator(seed, 0, j, Purpose.POLICY_INIT))
        for j in range(1, members or default)
    ]
    return np.stack([rows, *others]).astype(np.float32)
