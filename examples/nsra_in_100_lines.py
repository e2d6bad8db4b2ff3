"""ES, NS-ES, NSR-ES and NSRA-ES (Conti et al. 2018) in 100 lines; nses is tested against this file.

theta: M parameter vectors   f: return   b: behavior   A: archive   N: novelty   w: weight of reward
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Objective = Callable[[Array, Array, float], Array]
OBJECTIVES: dict[str, Objective] = {  # the only lines in which the four differ; f and N are ranks
    "es": lambda f, N, w: f,
    "ns-es": lambda f, N, w: N,
    "nsr-es": lambda f, N, w: (f + N) / 2,
    "nsra-es": lambda f, N, w: w * f + (1 - w) * N,
}


def centered_ranks(x: Array) -> Array:
    """Ranks scaled to [-1/2, 1/2]; ties share their mean rank."""
    below, equal = (x < x[:, None]).sum(axis=1), (x == x[:, None]).sum(axis=1)
    return (below + (equal - 1) / 2) / (len(x) - 1) - 1 / 2


def novelty(b: Array, A: Array, k: int) -> Array:
    """The mean squared distance from each b to its k nearest neighbours in A."""
    distance = ((b[:, None] - A) ** 2).sum(axis=2)
    return np.sort(distance, axis=1)[:, :k].mean(axis=1)


def search(
    objective: Objective,
    theta: Array,  # (M, d)
    evaluate: Callable[[Array, int, Sequence[int]], tuple[Array, Array]],  # see below
    draws: Iterable[tuple[float, Array]],  # per generation: u ~ U(0, 1), epsilon ~ N(0, I)
    *,
    sigma: float = 0.02,
    lr: float = 0.01,
    l2: float = 0.005,
    k: int = 10,
    w: float = 1.0,
    t_w: int = 50,
    delta_w: float = 0.05,
) -> Iterator[tuple[Array, Array, float, tuple[float, Array]]]:
    """After every generation: theta, A, w, and the best f so far with its theta.

    f, b = evaluate(thetas, t, members): one episode per candidate (no members), means for members.
    """
    M, d = theta.shape
    theta, mu, nu, steps = theta.copy(), np.zeros((M, d)), np.zeros((M, d)), np.zeros(M)
    f, b = evaluate(theta, 0, range(M))
    A, best = b.copy(), max(zip(f, theta.copy(), strict=True), key=lambda x: x[0])
    f_best, t_best = -np.inf, 0
    for t, (u, epsilon) in enumerate(draws):
        N = novelty(b, A, k)
        P = N / N.sum() if N.sum() > 0 else np.full(M, 1 / M)  # Eq. 1
        m = min(int(np.searchsorted(np.cumsum(P), u, side="right")), M - 1)

        epsilon = np.stack([epsilon, -epsilon], axis=1).reshape(-1, d)  # mirrored sampling
        f, b_i = evaluate(theta[m] + sigma * epsilon, t, [])
        F = objective(centered_ranks(f), centered_ranks(novelty(b_i, A, k)), w)
        g = F @ epsilon / (len(F) * sigma) - l2 / sigma * theta[m]  # Sec. 2.1

        steps[m] += 1  # Adam
        mu[m] = 0.9 * mu[m] + 0.1 * g
        nu[m] = 0.999 * nu[m] + 0.001 * g**2
        step = lr * np.sqrt(1 - 0.999 ** steps[m]) / (1 - 0.9 ** steps[m])
        theta[m] += step * mu[m] / (np.sqrt(nu[m]) + 1e-8)

        (score,), (b[m],) = evaluate(theta[[m]], t + 1, [m])
        A = np.vstack([A, b[m]])
        best = max(best, (score, theta[m].copy()), key=lambda x: x[0])

        t_best += 1  # SI, Algorithm 3
        if score > f_best:
            w, f_best, t_best = min(1.0, w + delta_w), score, 0
        if t_best >= t_w:
            w, t_best = max(0.0, w - delta_w), 0
        yield theta, A, w, best


def walk(theta: Array, t: int, members: Sequence[int]) -> tuple[Array, Array]:
    """Ten moves, rewarded by the final x; straight ahead is a trap, open to the left."""
    b = np.zeros((len(theta), 2))
    for move in np.tanh(theta.reshape(len(theta), 10, 2)).swapaxes(0, 1):
        x, y = (b + move).T
        wall = (x > 1) & (x < 3) & (abs(y) < 2) & ((x > 2) | (abs(y) > 1))
        b += np.where(wall, 0, move.T).T
    return b[:, 0], b


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    draws = [(rng.random(), rng.standard_normal((25, 20))) for _ in range(500)]
    for name, F in OBJECTIVES.items():
        theta = 0.1 * rng.standard_normal((1 if name == "es" else 3, 20))
        *_, (_, _, _, (f, _)) = search(F, theta, walk, draws, sigma=0.2, lr=0.1, t_w=5, delta_w=0.1)
        print(f"{name:7} ended at x = {f:.1f}, {'past' if f > 3 else 'in'} the trap")
