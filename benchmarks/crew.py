"""Processes that start their work together when told to."""

import multiprocessing
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from multiprocessing.connection import Connection
from typing import Any

from nses.execution.cpus import ONE_THREAD

Preparation = Callable[..., AbstractContextManager[Callable[[], None]]]


@contextmanager
def crew(count: int, prepare: Preparation, *arguments: Any) -> Iterator[list[Connection]]:
    """Starts `count` processes, each of which has entered `prepare(*arguments)` to get its work."""
    os.environ.update(ONE_THREAD)  # for the processes to inherit; it is too late for this one
    context = multiprocessing.get_context("spawn")
    pipes = [context.Pipe() for _ in range(count)]
    processes = [
        context.Process(target=serve, args=(theirs, prepare, arguments)) for _, theirs in pipes
    ]
    for process in processes:
        process.start()
    for _, theirs in pipes:
        theirs.close()
    connections = [ours for ours, _ in pipes]
    try:
        for connection in connections:
            connection.recv()  # EOFError if a process has failed; it has printed why
        yield connections
    finally:
        for connection in connections:
            connection.close()
        for process in processes:
            process.join()


def serve(connection: Connection, prepare: Preparation, arguments: tuple[Any, ...]) -> None:
    with prepare(*arguments) as work:
        connection.send("ready")
        while True:
            try:
                connection.recv()
            except EOFError:
                return
            work()
            connection.send("done")


def work_together(connections: list[Connection]) -> None:
    for connection in connections:
        connection.send("go")
    for connection in connections:
        connection.recv()
