"""How long a cluster takes to recover."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np

from benchmarks.foundation import Measure
from benchmarks.nodes.cluster import Cluster, cluster_of_two, namespaces

DRIVER = Path(__file__).with_name("driver.py")
CALM, TENSE = 10.0, 40.0  # seconds to look at before a fault, and after it
PATIENCE = 300.0  # seconds in which a run must get on


class Told:
    """What the driver of a cluster says, line by line, with its times."""

    def __init__(self, cluster: Cluster):
        self.lines: list[tuple[float, str]] = []
        self.process = subprocess.Popen(
            [*cluster.enter, sys.executable, str(DRIVER), cluster.address, "point-trap", "500"],
            env={**os.environ, **cluster.environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            when, what = line.strip().split(" ", 1)
            self.lines.append((float(when), what))

    def steps(self, since: float) -> list[float]:
        return [when for when, what in self.lines if what == "step" and when >= since]

    def players(self) -> list[float]:
        return [when for when, what in self.lines if what.startswith("played")]

    def longest(self, since: float) -> float:
        """Seconds between two generations, the one before included."""
        before = [when for when, what in self.lines if what == "step" and when < since]
        return float(np.diff([*before[-1:], *self.steps(since)]).max())

    def close(self) -> None:
        self.process.terminate()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(20)
        self.process.kill()
        self.process.wait()


def wait_for(condition: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(f"it did not happen within {PATIENCE:.0f} s")
        time.sleep(0.05)


@contextmanager
def told(cluster: Cluster, players: int = 2) -> Iterator[Told]:
    """A driver whose nodes all play."""
    driver = Told(cluster)
    try:
        wait_for(lambda: len(driver.players()) >= players)
        time.sleep(CALM)
        yield driver
    finally:
        driver.close()


def recovery() -> Iterator[Measure]:
    """Of a run that goes on meanwhile; generations take a fraction of a second."""
    apart = bool(namespaces())
    with cluster_of_two(apart) as cluster:
        with told(cluster) as driver:
            before = len(driver.players())
            cluster.tell("add")
            since = time.monotonic()
            wait_for(lambda: len(driver.players()) > before)
            seconds = driver.players()[-1] - since
            yield Measure("a node that joins plays after", seconds, "s", "≤ 10", seconds <= 10)
            seconds = cost(driver, lambda: cluster.tell("kill"))
            yield Measure("a killed raylet costs", seconds, "s", "≤ 15", seconds <= 15)
        if apart:
            with told(cluster) as driver:
                seconds = cost(driver, lambda: cluster.tell("cut"))
                yield Measure("a link that is cut costs", seconds, "s", "≤ 30", seconds <= 30)
        else:
            print("links were not cut: network namespaces are not allowed here")


def cost(driver: Told, fault: Callable[[], object]) -> float:
    """The longest generation after a fault, less a usual one before it."""
    usual = float(np.median(np.diff(driver.steps(time.monotonic() - CALM))))
    since = time.monotonic()
    fault()
    time.sleep(TENSE)
    wait_for(lambda: driver.steps(since + TENSE))
    return driver.longest(since) - usual
