"""Hard bounds for code that might hang or eat all memory, and files that make it try."""

import os
import resource
import signal
import socket
import tracemalloc
from contextlib import contextmanager
from pathlib import Path

TERABYTE = 1 << 40
ODD = ("pipe", "socket", "directory", "device", "link", "loop", "terabyte")


class Late(BaseException):
    """Which no `except Exception` takes for an error of a run."""


@contextmanager
def allocating_less_than(size):
    """Fails where so many bytes are in use at any moment, more than before."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < size
    finally:
        tracemalloc.stop()


@contextmanager
def bounded(seconds=10, memory=1 << 30):
    """Late after so many seconds, MemoryError beyond so many bytes more than now."""

    def late(*_):
        raise Late(f"not done after {seconds} seconds")

    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    resource.setrlimit(resource.RLIMIT_AS, (size + memory, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def replace_by(path, kind):
    """Something odd in the place of a file."""
    path.unlink(missing_ok=True)
    match kind:
        case "pipe":
            os.mkfifo(path)
        case "socket":
            here = os.getcwd()
            os.chdir(path.parent)  # the name of a socket is short
            try:
                with socket.socket(socket.AF_UNIX) as listener:
                    listener.bind(path.name)
            finally:
                os.chdir(here)
        case "directory":
            path.mkdir()
        case "device":
            path.symlink_to("/dev/zero")
        case "link":
            path.symlink_to("/etc/passwd")
        case "loop":
            path.symlink_to(path.name)
        case "terabyte":
            path.touch()
            os.truncate(path, TERABYTE)
