"""Two Ray nodes on the loopback interface to test with; skipped, and said so, without the extra."""

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from benchmarks.nodes.cluster import Cluster, cluster_of_two

from batches import TABLE
from nses.execution.ray import OnRay, Place
from nses.execution.runner import Plan

needs_ray = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None,
    reason="Ray is not installed: pip install 'nses[ray]' tests the backend that needs it",
)


def two_nodes() -> Iterator[Cluster]:
    """With a CPU each: to be made a fixture, for all tests of a file."""
    with cluster_of_two() as cluster, pytest.MonkeyPatch.context() as patch:
        for name, value in cluster.environment.items():
            patch.setenv(name, value)
        yield cluster


@contextmanager
def on_ray(cluster: Cluster, plan: Plan, **settings: Any) -> Iterator[OnRay]:
    ahead, tolerant = settings.pop("look_ahead", False), settings.pop("tolerant", False)
    place = Place(cluster.address, tolerant, look_ahead=ahead)
    chosen = {"capacity": 64, "seed": 0, "place": place} | settings
    with OnRay(plan, TABLE.size, **chosen) as evaluate:
        evaluate.noise[:] = TABLE
        yield evaluate
