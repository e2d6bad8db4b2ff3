"""Two Ray nodes on the loopback interface to test with; skipped, and said so, without the extra."""

import importlib.util
import os
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from batches import TABLE
from nses.execution.connecting import ALWAYS, LOOPBACK, OURS
from nses.execution.ray import OnRay, Place
from nses.execution.runner import Plan
from waiting import end_session

PROGRAM = Path(__file__).with_name("cluster_program.py")

needs_ray = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None,
    reason="Ray is not installed: pip install 'nses[ray]' tests the backend that needs it",
)


class LoopbackCluster:
    """A head and further nodes, one CPU each, in a program of their own."""

    def __init__(self, folder: Path):
        token = folder / "token"
        token.touch(0o600)
        token.write_text(secrets.token_hex(16))
        self.environment = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(token)}
        place = {"RAY_TMPDIR": str(folder)}
        self.program = subprocess.Popen(
            [sys.executable, str(PROGRAM)],
            env={**os.environ, **ALWAYS, **LOOPBACK, **OURS, **self.environment, **place},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )
        self.address = self._heard()

    def _heard(self) -> str:
        assert self.program.stdout is not None
        for line in self.program.stdout:
            if word := line.strip():
                return word
        raise AssertionError("the cluster ended")

    def tell(self, what: str) -> str:
        assert self.program.stdin is not None
        self.program.stdin.write(what + "\n")
        self.program.stdin.flush()
        return self._heard()

    def close(self) -> None:
        assert self.program.stdin is not None
        self.program.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            self.program.wait(20)
        end_session(self.program)


@contextmanager
def loopback_cluster() -> Iterator[LoopbackCluster]:
    with tempfile.TemporaryDirectory(prefix="nses-") as folder:  # short: it holds sockets
        cluster = LoopbackCluster(Path(folder))
        try:
            yield cluster
        finally:
            cluster.close()


@contextmanager
def on_ray(cluster: LoopbackCluster, plan: Plan, **settings: Any) -> Iterator[OnRay]:
    place = Place(cluster.address, settings.pop("tolerant", False))
    chosen = {"capacity": 64, "seed": 0, "place": place} | settings
    with OnRay(plan, TABLE.size, **chosen) as evaluate:
        evaluate.noise[:] = TABLE
        yield evaluate
