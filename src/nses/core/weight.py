"""The weight w between reward and novelty, and how NSRA-ES adapts it (SI, Algorithm 3)."""

from dataclasses import dataclass, replace
from math import inf


@dataclass(frozen=True)
class Weight:
    """w is the weight of reward, 1 - w of novelty; f_best and t_best are what adapt remembers."""

    w: float = 1.0
    f_best: float = -inf
    t_best: int = 0


def adapt(weight: Weight, f: float, *, t_w: int, delta_w: float, min_gain: float = 0.0) -> Weight:
    """Move w towards reward when f improves, and towards novelty after t_w updates without that.

    A gain of at most `min_gain` does not count as improvement (0, as in the paper: any gain does).
    """
    if f > weight.f_best + min_gain:
        return Weight(w=min(1.0, weight.w + delta_w), f_best=f, t_best=0)
    t_best = weight.t_best + 1
    if t_best >= t_w:
        return replace(weight, w=max(0.0, weight.w - delta_w), t_best=0)
    return replace(weight, t_best=t_best)


def keep(weight: Weight, f: float, **settings: float) -> Weight:
    """The weight of ES, NS-ES and NSR-ES: it never moves."""
    return weight
