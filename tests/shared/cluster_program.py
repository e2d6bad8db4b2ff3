"""A Ray cluster on the loopback interface, in a program of its own that obeys its standard input.

It says the address of its head first. `add` starts another node and says the process of its raylet,
`kill` ends the raylet of the last one, and the end of the input ends everything.
"""

import os
import sys
from typing import Any

CPUS = 1  # of each node


def main() -> None:
    import ray
    from ray.cluster_utils import Cluster

    common: dict[str, Any] = {"num_cpus": CPUS, "object_store_memory": 80 << 20}
    head = common | {"include_dashboard": False}
    quick = {"health_check_period_ms": 1000, "health_check_timeout_ms": 2000}
    quick |= {"health_check_failure_threshold": 3, "enable_worker_prestart": False}
    cluster = Cluster(True, head_node_args=head | {"_system_config": quick})
    nodes = [cluster.add_node(**common)]
    print(cluster.address, flush=True)
    for line in sys.stdin:
        if line.strip() == "add":
            nodes.append(cluster.add_node(**common))
            print(raylet_of(nodes[-1]), flush=True)
        else:
            os.kill(raylet_of(nodes.pop()), 9)
            print("killed", flush=True)
    ray.shutdown()
    cluster.shutdown()


def raylet_of(node: Any) -> int:
    return node.all_processes["raylet"][0].process.pid


if __name__ == "__main__":
    main()
