"""Which nodes a Ray cluster has, asked again and again in a separate thread."""

import threading
import time
from dataclasses import dataclass

LOOK = 1.0  # seconds between two looks


@dataclass(frozen=True)
class Found:
    """A node of the cluster."""

    id: str
    name: str
    cpus: int
    free: int  # of these, those that no program holds
    here: bool  # whether it is this machine


class Watch(threading.Thread):
    """Keeps asking the head for its nodes, in a thread because an answer may take long."""

    def __init__(self) -> None:
        super().__init__(name="nses-ray-watch", daemon=True)
        self.found, self.answered = nodes_of_the_cluster(), time.monotonic()
        self.enough = threading.Event()
        self.start()

    def run(self) -> None:
        while not self.enough.wait(LOOK):
            try:
                self.found, self.answered = nodes_of_the_cluster(), time.monotonic()
            except Exception:  # no answer: `answered` shows since when
                continue

    def stop(self) -> None:
        self.enough.set()
        self.join(LOOK)


def nodes_of_the_cluster() -> tuple[Found, ...]:
    import ray
    from ray._private.state import available_resources_per_node
    from ray.util import get_node_ip_address

    here, free = get_node_ip_address(), available_resources_per_node()
    return tuple(
        Found(
            node["NodeID"],
            f"{node['NodeManagerHostname']} ({node['NodeID'][:8]})",
            int(node["Resources"].get("CPU", 0)),
            int(free.get(node["NodeID"], {}).get("CPU", 0)),
            node["NodeManagerAddress"] == here,
        )
        for node in ray.nodes()
        if node["Alive"]
    )


def reason_of(error: Exception) -> str:
    """What Ray says about a lost foreman, in one line."""
    name = type(error).__name__
    if name == "OutOfMemoryError":
        return "its machine was out of memory"
    first = next((line for line in str(error).splitlines() if line.strip()), name)
    return f"{name}: {first.strip().rstrip('.')}"
