"""Processes that do their work together whenever they are told to."""

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
    """`count` processes that have entered `prepare(*arguments)`, which gives them their work."""
    os.environ.update(ONE_THREAD)  # they inherit it; too late for this process, which may have more
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
            connection.recv()  # EOFError where a process has failed, which has said why
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
