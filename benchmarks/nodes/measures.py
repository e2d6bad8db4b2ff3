"""The promises about clusters, measured on this machine."""

from collections.abc import Callable, Iterator
from functools import partial

from benchmarks.foundation import Measure
from benchmarks.nodes import breaking, costs
from benchmarks.nodes.same_bits import same_bits

SAME_BITS = {"point": "point-trap", "humanoid": "humanoid", "atari": "atari:freeway"}

MEASURES: dict[str, Callable[[], Iterator[Measure]]] = {
    "ray-one-node": costs.one_node,
    "ray-rows": costs.rows,
    "ray-traffic": costs.traffic,
    "ray-recovery": breaking.recovery,
    **{f"ray-same-bits-{name}": partial(same_bits, task) for name, task in SAME_BITS.items()},
}
