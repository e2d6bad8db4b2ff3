"""The paper's pseudo-code, line by line, for tests to compare with."""

from collections.abc import Iterable
from math import inf


def as_in_the_paper(scores: Iterable[float], w: float, t_w: int, delta_w: float) -> list[float]:
    """The end of Algorithm 3 (SI), line by line; w after each f(theta_{t+1})."""
    f_best = -inf
    t_best = 0
    weights = []
    for f in scores:
        if f > f_best:
            w = min(1, w + delta_w)
            t_best = 0
            f_best = f
        else:
            t_best = t_best + 1
        if t_best >= t_w:
            w = max(0, w - delta_w)
            t_best = 0
        weights.append(w)
    return weights
