"""What Ray finds around it in this process, and what it must leave as it was."""

import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from nses.execution import janitor

LONGEST_PARENT = 16  # characters: a socket's path may have 107, and Ray adds 70 to ours
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
LOOPBACK = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}  # what makes Ray use 127.0.0.1, anywhere


@contextmanager
def same_signals() -> Iterator[None]:
    """Restores the caller's signal handlers, which Ray replaces with its own."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {signum: signal.getsignal(signum) for signum in SIGNALS}
    try:
        yield
    finally:
        for signum, handler in before.items():
            signal.signal(signum, handler)


@contextmanager
def environment(settings: Mapping[str, str]) -> Iterator[None]:
    """Sets what the user has not set, for as long as the connection lasts."""
    added = {name: value for name, value in settings.items() if name not in os.environ}
    os.environ.update(added)
    constants = sys.modules.get("ray._private.ray_constants")
    if constants is not None and os.environ.get(next(iter(LOOPBACK))) == "0":
        vars(constants)["ENABLE_RAY_CLUSTER"] = False  # read from the environment on import
    try:
        yield
    finally:
        for name in added:
            os.environ.pop(name, None)


@contextmanager
def hushed() -> Iterator[None]:
    """Keeps Ray from printing about lost nodes on standard output, where results belong."""
    with same_signals():
        from ray._private import worker

    printing = worker.print_to_stdstream
    worker.print_to_stdstream = lambda data, ignore_prefix: None
    try:
        yield
    finally:
        worker.print_to_stdstream = printing


@contextmanager
def own_folder() -> Iterator[str]:
    """A folder for the sockets and logs of a cluster of our own, which nobody else can read.

    A program of its own removes it, even if this one is killed.
    """
    parent = tempfile.gettempdir()
    folder = tempfile.mkdtemp(
        prefix="nses-", dir=parent if len(parent) <= LONGEST_PARENT else "/tmp"
    )
    words = [sys.executable, "-I", "-S", janitor.__file__, folder]
    pipe, nowhere = subprocess.PIPE, subprocess.DEVNULL
    with subprocess.Popen(
        words, stdin=pipe, stdout=nowhere, stderr=nowhere, start_new_session=True
    ):
        yield f"{folder}/ray"  # Ray opens its own folder to everybody
