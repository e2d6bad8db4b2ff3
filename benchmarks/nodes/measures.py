"""The promises about clusters, measured on this machine."""

from collections.abc import Callable, Iterator

from benchmarks.foundation import Measure
from benchmarks.nodes import breaking, costs

MEASURES: dict[str, Callable[[], Iterator[Measure]]] = {
    "ray-one-node": costs.one_node,
    "ray-rows": costs.rows,
    "ray-traffic": costs.traffic,
    "ray-recovery": breaking.recovery,
    "ray-same-bits": breaking.same_bits,
}
