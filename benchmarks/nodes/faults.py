"""Faults of a run on a cluster: of its driver, of its nodes and of the links between them."""

from collections.abc import Callable

from benchmarks.faults import (
    KINDS,
    Fault,
    Training,
    command_of,
    kill_one,
    let_pass,
    marked,
    stop_one,
)
from benchmarks.nodes.cluster import Cluster

Kind = Callable[[Training, Fault], bool]
MOST = 2  # nodes besides the head
RETURNS = 60.0  # seconds in which a node that was cut off learns that it is out, and ends

# What happens to the driver is the same as on one machine. It is not starved of disk space here:
# the limit would be on the memory that it shares with Ray, too.
DRIVER = (
    *("SIGSTOP the coordinator", "kill -9 the coordinator", "kill -9 the process group"),
    *("SIGTERM", "SIGINT"),
)


def players(cluster: Cluster, word: bytes) -> list[int]:
    """The processes of a cluster whose command has a word in it, oldest first."""
    return sorted(pid for pid in marked(cluster.mark) if word in command_of(pid))


def foremen(cluster: Cluster) -> list[int]:
    return players(cluster, b"ray::Foreman")


def workers(cluster: Cluster) -> list[int]:
    return players(cluster, b"execution/worker.py")


def kinds_on(cluster: Cluster) -> dict[str, Kind]:
    """Faults by name; the head and its raylet are left alone, for with them the driver ends."""

    def raylets() -> list[int]:
        return [int(word) for word in cluster.tell("raylets").split() if word != "-"]

    def join(training: Training, fault: Fault) -> bool:
        return len(raylets()) < MOST and cluster.tell("add") != ""

    def kill_raylet(training: Training, fault: Fault) -> bool:
        return kill_one(raylets(), fault)

    def cut(training: Training, fault: Fault) -> bool:
        """A short cut goes unnoticed; after a longer one, the node is out and ends itself."""
        if not raylets():
            return False
        cluster.tell("cut")
        let_pass(training, 2 * fault.seconds)
        training.leaves = RETURNS  # the end of a run is told to nobody behind a cut
        return cluster.tell("mend") != ""

    found: dict[str, Kind] = {
        "kill -9 a worker": lambda _, fault: kill_one(workers(cluster), fault),
        "kill -9 a foreman": lambda _, fault: kill_one(foremen(cluster), fault),
        "kill -9 a raylet": kill_raylet,
        "a node joins": join,
        "SIGSTOP a worker": lambda training, fault: stop_one(workers(cluster), training, fault),
        "SIGSTOP a foreman": lambda training, fault: stop_one(foremen(cluster), training, fault),
        "SIGSTOP a raylet": lambda training, fault: stop_one(raylets(), training, fault),
    }
    if cluster.enter:
        found["cut the link of a node"] = cut
    return found | {name: KINDS[name] for name in DRIVER}
