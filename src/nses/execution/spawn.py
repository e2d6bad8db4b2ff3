"""Processes of our own: how they are started, talked to and ended."""

import errno
import os
import pickle
import signal
import socket
import struct
import subprocess
import sys
import threading
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import cloudpickle

from nses.execution.cpus import ONE_THREAD

PATIENCE = 5.0  # seconds that a process which is not playing may take to read or write a message

WORKER = Path(__file__).with_name("worker.py")


class Unsendable(ValueError):
    """A task that cannot leave this process."""


def packed(content: Any) -> bytes:
    """What a process needs to know once; the path goes first, the rest may name modules on it."""
    try:
        return pickle.dumps((sys.path, cloudpickle.dumps(content)))
    except Exception as error:
        raise Unsendable(
            f"the task cannot be sent to worker processes: {error}. Let its environment make what "
            "cannot be sent, or use the serial backend."
        ) from error


def spawn(
    setup: int, descriptors: tuple[int, ...] = (), slot: int = 0
) -> tuple[subprocess.Popen[bytes], Connection]:
    """A process that knows `setup`: a worker with these descriptors, without any a first look."""
    ours, theirs = socket.socketpair()
    for option in (socket.SO_SNDTIMEO, socket.SO_RCVTIMEO):
        ours.setsockopt(socket.SOL_SOCKET, option, struct.pack("ll", int(PATIENCE), 0))
    passed = (theirs.fileno(), setup, *descriptors)
    main_thread = threading.current_thread() is threading.main_thread()
    # The process inherits the mask: no Ctrl-C before it is ready to ignore it.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM))
    try:
        process = subprocess.Popen(
            # -P: the current directory may hold modules that are not meant.
            [sys.executable, "-P", str(WORKER)]
            + [str(x) for x in (os.getpid(), int(main_thread), slot, *passed)],
            pass_fds=passed,
            stdin=subprocess.DEVNULL,
            env={**os.environ, **ONE_THREAD},
        )
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        theirs.close()
    return process, Connection(ours.detach())


def reason_of(code: int) -> str:
    """How a process ended, for people."""
    if code >= 0:
        return "out of memory" if code == errno.ENOMEM else f"exit code {code}"
    name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
    return f"{name}, often the kernel out of memory" if name == "SIGKILL" else name
