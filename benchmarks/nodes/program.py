"""A Ray cluster on this machine, in a program of its own that obeys its standard input.

It says the address of its head first, and has two nodes then. `add` starts another node and says
the process of its raylet; `kill` ends the raylet of the last one; `raylets` says the processes of
all but the head's. With `apart` as its argument, every node but the head is in a network namespace
of its own, and `cut` and `mend` take down and bring up the link of the last one. The end of the
input ends everything.
"""

import itertools
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from typing import Any, Protocol

import psutil

CPUS = 1  # of each node
OBJECTS = 80 << 20  # bytes
HEAD, PORT = "10.77.0.1", 6379
QUICK = {  # to notice a node that is cut off
    "health_check_period_ms": 1000,
    "health_check_timeout_ms": 2000,
    "health_check_failure_threshold": 3,
    "enable_worker_prestart": False,
}


class Nodes(Protocol):
    address: str

    def add(self) -> int: ...
    def kill(self) -> int: ...
    def raylets(self) -> str: ...
    def close(self) -> None: ...


class Together:
    """All nodes on the loopback interface."""

    def __init__(self) -> None:
        from ray.cluster_utils import Cluster

        self.common: dict[str, Any] = {"num_cpus": CPUS, "object_store_memory": OBJECTS}
        head = self.common | {"include_dashboard": False, "_system_config": QUICK}
        self.cluster = Cluster(True, head_node_args=head)
        self.address = str(self.cluster.address)
        self.nodes = [self.cluster.add_node(**self.common)]

    def add(self) -> int:
        self.nodes.append(self.cluster.add_node(**self.common))
        return self._process(self.nodes[-1]).pid

    def kill(self) -> int:
        raylet = self._process(self.nodes.pop()).pid
        os.kill(raylet, signal.SIGKILL)
        return raylet

    def raylets(self) -> str:
        self.nodes = [node for node in self.nodes if self._process(node).poll() is None]
        return words_of(self._process(node).pid for node in self.nodes)

    def _process(self, node: Any) -> subprocess.Popen[bytes]:
        return node.all_processes["raylet"][0].process

    def close(self) -> None:
        import ray

        ray.shutdown()
        self.cluster.shutdown()


class Apart:
    """The head here, and every other node behind a link, as machines on a network are."""

    def __init__(self) -> None:
        self.numbers, self.address = itertools.count(1), f"{HEAD}:{PORT}"
        self.nodes: list[tuple[str, subprocess.Popen[bytes]]] = []  # links, and who starts a raylet
        ip("link", "set", "lo", "up")
        ip("link", "add", "hub", "type", "bridge")
        ip("addr", "add", f"{HEAD}/24", "dev", "hub")
        ip("link", "set", "hub", "up")
        ip("route", "add", "default", "via", HEAD)  # Ray asks for the way to the world
        self.head = ray_start([], "--head", f"--port={PORT}", f"--node-ip-address={HEAD}")
        raylet_of(self.head)
        self.add()

    def add(self) -> int:
        number = next(self.numbers)
        link, address = f"node{number}", f"10.77.0.{number + 1}"
        inside = namespace()
        ip("link", "add", link, "type", "veth", "peer", "name", "uplink", "netns", inside[-1])
        ip("link", "set", link, "master", "hub", "up")
        enter = ["nsenter", "--net", "--target", inside[-1]]
        ip("link", "set", "lo", "up", inside=enter)
        ip("addr", "add", f"{address}/24", "dev", "uplink", inside=enter)
        ip("link", "set", "uplink", "up", inside=enter)
        ip("route", "add", "default", "via", HEAD, inside=enter)
        starter = ray_start(enter, f"--address={self.address}", f"--node-ip-address={address}")
        self.nodes.append((link, starter))
        return raylet_of(starter)

    def kill(self) -> int:
        _, starter = self.nodes.pop()
        raylet = raylet_of(starter)
        os.kill(raylet, signal.SIGKILL)
        return raylet

    def raylets(self) -> str:
        """Who started a raylet that is gone, goes too."""
        alive = [(link, starter, raylet_among(starter)) for link, starter in self.nodes]
        self.nodes = [(link, starter) for link, starter, raylet in alive if raylet is not None]
        return words_of(raylet for _, _, raylet in alive if raylet is not None)

    def cut(self) -> str:
        ip("link", "set", self.nodes[-1][0], "down")
        return "cut"

    def mend(self) -> str:
        ip("link", "set", self.nodes[-1][0], "up")
        return "mended"

    def close(self) -> None:
        """Who started this kills all that is left."""


def namespace() -> list[str]:
    """A new network namespace, named by a process that does nothing but be in it."""
    keeper = subprocess.Popen(["unshare", "--net", "sleep", "infinity"])
    ours = os.readlink("/proc/self/ns/net")
    wait_for(lambda: os.readlink(f"/proc/{keeper.pid}/ns/net") != ours)
    return [str(keeper.pid)]


def ip(*words: str, inside: list[str] | None = None) -> None:
    subprocess.run([*(inside or []), "ip", *words], check=True)


def ray_start(inside: list[str], *words: str) -> subprocess.Popen[bytes]:
    common = [f"--num-cpus={CPUS}", f"--object-store-memory={OBJECTS}", "--block"]
    head = ["--include-dashboard=false"] if "--head" in words else []
    program = [sys.executable, "-m", "ray.scripts.scripts", "start"]
    return subprocess.Popen([*inside, *program, *words, *common, *head], stdout=sys.stderr)


def raylet_of(starter: subprocess.Popen[bytes]) -> int:
    """As soon as there is one."""
    wait_for(lambda: raylet_among(starter) is not None or starter.poll() is not None)
    raylet = raylet_among(starter)
    assert raylet is not None, "a node could not be started"
    return raylet


def raylet_among(starter: subprocess.Popen[bytes]) -> int | None:
    """The living raylet that a program started, if there is one."""
    try:
        for child in psutil.Process(starter.pid).children(recursive=True):
            if child.name() == "raylet" and child.status() != psutil.STATUS_ZOMBIE:
                return child.pid
    except psutil.Error:  # it ends while we look
        return None
    return None


def words_of(numbers: Iterable[int]) -> str:
    return " ".join(map(str, numbers)) or "-"


def wait_for(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 120.0
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)


def main(words: list[str]) -> None:
    nodes: Nodes = Apart() if words == ["apart"] else Together()
    print(nodes.address, flush=True)
    for line in sys.stdin:
        print(getattr(nodes, line.strip())(), flush=True)
    nodes.close()


if __name__ == "__main__":
    main(sys.argv[1:])
