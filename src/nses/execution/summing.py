"""The gradient, summed on the nodes of a cluster: who sums which block does not change the bits."""

from dataclasses import replace
from typing import Any

import numpy as np

from nses.core.noise import SHARE, Epsilon
from nses.core.values import Floats
from nses.execution.node import Node
from nses.execution.shares import blocks_of

PRODUCTS = 4e9  # per second that a CPU sums into a gradient
WORTH_SENDING = 0.1  # seconds: sending out a gradient that takes less time costs more than it saves


def pays(products: int, threads: int, cpus: int) -> bool:
    """Whether other machines with this many CPUs sum a gradient sooner than threads here."""
    here = products / (PRODUCTS * threads)
    return here > WORTH_SENDING and cpus > 2 * threads


def summed_on(helpers: list[Node], epsilon: Epsilon, F: Floats, threads: int) -> Floats:
    """A block of parameters for each node; blocks that do not come back in time are summed here."""
    import ray

    offsets, weights = ray.put(epsilon.offsets), ray.put(F)
    calls = {}
    blocks = blocks_of(epsilon.d, [node.workers for node in helpers], SHARE)
    for node, block in zip(helpers, blocks, strict=True):
        calls[node.actor.weighted_sum.remote(offsets, weights, block)] = block
    patience = 1.0 + 2 * epsilon.d * epsilon.offsets.size / (PRODUCTS * threads)
    done, _ = ray.wait(list(calls), num_returns=len(calls), timeout=patience)
    g = np.empty(epsilon.d)
    for call, block in calls.items():
        part = _fetched(call) if call in done else None
        if part is None:
            here = replace(epsilon, offsets=epsilon.offsets + block.start, d=len(block))
            part = here.weighted_sum(F, threads)
        g[block.start : block.stop] = part
    return g


def _fetched(call: Any) -> Floats | None:
    import ray
    from ray.exceptions import RayError

    try:
        return ray.get(call, timeout=1.0)
    except RayError:  # the next job will find out what became of the node
        return None
