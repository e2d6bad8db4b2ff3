"""One Ray cluster for all runs of an experiment, which connect to it from their own processes."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager

from nses.execution.connecting import ANSWER, Connection, parsed


@contextmanager
def one_cluster(address: str | None, cpus: int) -> Iterator[str]:
    """The address of a cluster that answers: the given one, or one that ends with the context."""
    connection = Connection(address, cpus)
    import ray

    address = address or str(ray.get_runtime_context().gcs_address)
    try:
        yield address
    finally:
        if not answers(address):
            connection.forsake()
        connection.close()


def answers(address: str) -> bool:
    """Whether the head of a cluster is still there."""
    try:
        socket.create_connection(parsed(address), ANSWER).close()
    except OSError:
        return False
    return True


_joined: list[Connection] = []  # until this process ends, when Ray takes its leave by itself


def join(address: str) -> None:
    """From now on this process is on the cluster, and so are all searches that it starts."""
    _joined.append(Connection(address, 1))
