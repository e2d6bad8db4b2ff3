"""A run on a cluster that never ends and tells what happens, line by line.

`step` after every generation and `played NODE` when a node has played for the first time, each with
the time of the monotonic clock, which all processes of a machine share.
"""

import sys
import time
from contextlib import suppress
from dataclasses import replace
from unittest.mock import patch

from nses.execution import ray
from nses.execution.foreman import Answer
from nses.execution.node import Node
from nses.execution.ray import Batch, OnRay
from nses.experiment.settings.build import search_of
from nses.experiment.settings.recipes import recipe
from nses.rollouts.tasks.catalog import make_task


class Telling(OnRay):
    """Says who plays."""

    def _receive(self, node: Node, answer: Answer, batch: Batch) -> None:
        super()._receive(node, answer, batch)
        if len(answer.parcel.indices) and node.found.id not in PLAYED:
            PLAYED.add(node.found.id)
            tell(f"played {node.found.id}")


PLAYED: set[str] = set()


def tell(what: str) -> None:
    print(f"{time.monotonic():.3f} {what}", flush=True)


def main(address: str, task: str, n: str) -> None:
    config = replace(recipe(task, "laptop", "nsra-es"), n=int(n))
    config = replace(config, backend="ray", ray_address=address)
    with patch.object(ray, "OnRay", Telling), search_of(config, make_task(task)) as search:
        state = search.init()
        while True:
            state, _ = search.step(state)
            tell("step")


if __name__ == "__main__":
    with suppress(BrokenPipeError, KeyboardInterrupt):
        main(*sys.argv[1:])
