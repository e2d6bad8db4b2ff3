"""A process started by spawn.py: a worker, which plays what it is given, or a first look at a task.

It exits by itself when its coordinator is gone, whatever it is doing at that moment. Nothing from
this package is imported until the coordinator has said where to find modules.
"""

import ctypes
import errno
import gc
import os
import pickle
import signal
import sys
import threading
import time
import traceback
from multiprocessing.connection import Connection
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def main(arguments: list[str]) -> int:
    parent, main_thread, slot, *descriptors = (int(x) for x in arguments)
    for signum in SIGNALS:
        signal.signal(signum, _ignore)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)  # blocked by the coordinator until here
    for descriptor in descriptors:
        os.set_inheritable(descriptor, False)
    if main_thread:
        die_with_parent(parent, signal.SIGKILL)
    channel, setup, *shared = descriptors
    connection = Connection(channel)
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()
    try:
        return _work(connection, setup, shared, slot) if shared else _look(connection, setup)
    except (EOFError, ConnectionError):  # the coordinator is done with us
        return 0
    except MemoryError:
        os._exit(errno.ENOMEM)  # at once, and the code says why


def _look(connection: Connection, setup: int) -> int:
    try:
        content = _told(setup)
        from nses.execution.own_code import unpacked
        from nses.rollouts.look import stages

        for stage in stages(*unpacked(content)):
            connection.send(stage)
    except MemoryError:
        raise
    except Exception as error:
        connection.send(("broken", str(error)))
        return 1
    return 0


def _told(setup: int) -> bytes:
    """The coordinator's message, once the modules it may refer to can be imported."""
    # All workers share one position in this file, so pread leaves it where it is.
    sys.path, sources, content = pickle.loads(os.pread(setup, os.fstat(setup).st_size, 0))
    from nses.execution.output import forgive

    if sources:  # from a user on another machine
        from nses.execution.own_code import install

        install(sources)
    forgive()  # an environment may print
    return content


def _work(connection: Connection, setup: int, descriptors: list[int], slot: int) -> int:
    gc.disable()  # there is no garbage among all the objects that importing makes
    try:
        content = _told(setup)
        from nses.execution.playing import work
    except MemoryError:
        raise
    except Exception:
        connection.send(("broken", traceback.format_exc()))
        return 1
    gc.enable()
    return work(connection, content, descriptors, slot)


def _ignore(signum: int, frame: FrameType | None) -> None:
    """The coordinator decides when to stop. SIG_IGN would pass on to programs that tasks start."""


def die_with_parent(parent: int, signum: signal.Signals) -> None:
    """On Linux, has the kernel signal this process when its parent dies, even in foreign code."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signum)  # PR_SET_PDEATHSIG
        if os.getppid() != parent:
            os._exit(0)


def _watch(parent: int) -> None:
    """Looks twice a second: for other systems, and for coordinators outside the main thread."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(0)


if __name__ == "__main__":
    code = main(sys.argv[1:])
    from nses.execution.leaving import leave

    sys.exit(leave(code))
