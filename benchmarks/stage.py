"""Where a soak trains: on this machine, or on a cluster of nodes on this machine."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.faults import KINDS, MARK, Fault, Training
from benchmarks.nodes.cluster import cluster_of_two, namespaces
from benchmarks.nodes.faults import foremen, kinds_on, workers

COURSES = {  # task → settings
    "point-trap": "--algorithm nsra-es --seed 1 --n 100 --generations 300 --max-steps 100",
    "swimmer-trap": "--algorithm nsr-es --seed 2 --n 8 --generations 80 --max-steps 100",
    "Pendulum-v1": "--algorithm es --seed 3 --n 8 --generations 80 --max-steps 40",
}
COMMON = (
    "--deadline 5 --checkpoint-seconds 0.3 --evaluation-episodes 2 --retest-episodes 4 "
    "--no-tensorboard --no-pictures"
)
HERE = ["--backend", "processes", "--workers", "2"]


def nobody() -> list[int]:
    return []


@dataclass(frozen=True)
class Stage:
    """What can happen there, and how commands are started there."""

    kinds: Mapping[str, Callable[[Training, Fault], bool]]
    backend: list[str]
    enter: list[str] = field(default_factory=list)  # before every command
    environment: dict[str, str] = field(default_factory=dict)
    playing: Callable[[], list[int]] = nobody  # processes that play and do not carry the mark

    def start(self, words: list[str], home: Path, mark: str) -> Training:
        """Start a command in a process group of its own, with a pipe as its standard output."""
        reader, writer = os.pipe()
        os.set_blocking(reader, False)
        with (home.parent / f"{home.name}.errors").open("ab") as errors:
            process = subprocess.Popen(
                [*self.enter, sys.executable, "-m", "nses", *words],
                stdin=subprocess.DEVNULL,
                stdout=writer,
                stderr=errors,
                env={**os.environ, **self.environment, MARK: mark},
                start_new_session=True,
            )
        os.close(writer)
        return Training(home, process, mark, reader)

    def train(self, task: str, home: Path) -> list[str]:
        settings = [*COURSES[task].split(), *COMMON.split()]
        return ["train", task, *settings, *self.backend, "--run-dir", str(home)]

    def resume(self, home: Path, number: int) -> list[str]:
        """Now and then on this machine, whatever it was trained on before."""
        return ["resume", str(home), *(HERE if number % 4 == 0 else self.backend)]


ON_THIS_MACHINE = Stage(KINDS, HERE)


@contextmanager
def on_a_cluster() -> Iterator[Stage]:
    """Two nodes, in networks of their own where that is allowed."""
    with cluster_of_two(apart=bool(namespaces())) as cluster:
        yield Stage(
            kinds_on(cluster),
            ["--backend", "ray", "--workers", "8", "--ray-address", cluster.address],
            cluster.enter,
            cluster.environment,
            lambda: [*foremen(cluster), *workers(cluster)],
        )
