"""Ray clusters of a few nodes on this machine, which can lose nodes, gain some and be cut."""

import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from benchmarks.faults import MARK, marked
from nses.execution.connecting import ALWAYS, OURS
from nses.execution.surroundings import LOOPBACK

PROGRAM = Path(__file__).with_name("program.py")
ENDS = 20.0  # seconds for a cluster to end by itself
AS_ROOT, AS_ANYBODY = ["unshare", "--net"], ["unshare", "--user", "--map-root-user", "--net"]


class Cluster:
    """A head and another node, one CPU each, in a program of their own.

    If they are `apart`, every node but the head is behind a link that can be cut. Whoever connects
    begins its command with `enter` and has `environment`.
    """

    def __init__(self, folder: Path, apart: bool = False):
        token = folder / "token"
        token.touch(0o600)
        token.write_text(secrets.token_hex(16))
        self.mark = secrets.token_hex(8)
        self.environment = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(token)}
        ours = {"RAY_TMPDIR": str(folder), MARK: self.mark, **self.environment}
        network = namespaces() if apart else []
        self.program = subprocess.Popen(
            [*network, sys.executable, str(PROGRAM), *(["apart"] if apart else [])],
            env={**os.environ, **ALWAYS, **OURS, **({} if apart else LOOPBACK), **ours},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )
        self.enter = entering(network, self.program.pid)
        try:
            self.address = self._heard()
        except BaseException:
            self.close()
            raise

    def _heard(self) -> str:
        assert self.program.stdout is not None
        for line in self.program.stdout:
            if word := line.strip():
                return word
        raise RuntimeError("the cluster ended")

    def tell(self, what: str) -> str:
        """`add` and `kill` say a process id; `cut` and `mend` are for nodes that are apart."""
        assert self.program.stdin is not None
        self.program.stdin.write(what + "\n")
        self.program.stdin.flush()
        return self._heard()

    def close(self) -> None:
        assert self.program.stdin is not None
        assert self.program.stdout is not None
        self.program.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            self.program.wait(ENDS)
        while left := marked(self.mark):
            for pid in left:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        self.program.stdout.close()
        self.program.wait()


@contextmanager
def cluster_of_two(apart: bool = False) -> Iterator[Cluster]:
    with tempfile.TemporaryDirectory(prefix="nses-", ignore_cleanup_errors=True) as folder:
        cluster = Cluster(Path(folder), apart)  # the name is short, since the folder holds sockets
        try:
            yield cluster
        finally:
            cluster.close()


@cache
def namespaces() -> list[str]:
    """How to start a program in a network of its own; empty where that is not allowed."""
    if shutil.which("unshare") and shutil.which("nsenter") and shutil.which("ip"):
        for words in (AS_ROOT, AS_ANYBODY):
            attempt = [*words, "ip", "link", "add", "hub", "type", "bridge"]
            if subprocess.run(attempt, capture_output=True, check=False).returncode == 0:
                return words
    return []


def entering(network: list[str], pid: int) -> list[str]:
    """How to start a program in the network of another."""
    user = ["--user", "--preserve-credentials"] if "--user" in network else []
    return ["nsenter", *user, "--net", f"--target={pid}"] if network else []
