"""Our own processes: how they are started, and how they ended."""

import errno
import os
import pickle
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import cloudpickle

from nses.errors import UsageError
from nses.execution.cpus import ONE_THREAD
from nses.execution.own_code import installed

PATIENCE = 5.0  # seconds that an idle process may take to read or write a message

WORKER = Path(__file__).with_name("worker.py")


# What to do when the system has run out of something.
REMEDIES = {
    errno.EMFILE: "Raise the limit on open files (ulimit -n), lower --workers",
    errno.ENFILE: "Close files in other programs, lower --workers",
    errno.EFBIG: "Raise the limit on file sizes (ulimit -f), which shared memory counts against",
    errno.EAGAIN: "Raise the limit on processes (ulimit -u), lower --workers",
    errno.ENOMEM: "Free some memory, lower --workers",
}


@contextmanager
def starting() -> Iterator[None]:
    """UsageError if the system refuses to set up processes or their memory."""
    try:
        yield
    except OSError as error:
        if error.errno not in REMEDIES:
            raise
        raise UsageError(
            f"worker processes cannot be started: {error.strerror}. {REMEDIES[error.errno]}, "
            "or use --backend serial."
        ) from error


class Unsendable(UsageError):
    """The task cannot be sent to another process."""


def unsendable(content: Any, where: str, error: Exception) -> Unsendable:
    """Why a task and a policy cannot be sent, which part of them it is, and what to do."""
    role, part = _culprit(content)
    name = f" ({part})" if part else ""
    return Unsendable(
        f"the {role}{name} cannot be sent to {where}: {error}. What a module defines is sent by "
        "name, and workers import it; all else is copied. So define it in a module, a file "
        "module.py beside your script, and give its name, 'module:attribute'; or let it open "
        "locks, files and simulators itself when it is made there. --backend serial needs no "
        "workers (backend='serial')."
    )


def _culprit(content: Any) -> tuple[str, str]:
    """The part of a task or policy that cannot be copied: its role, and what it is called."""
    told = content if isinstance(content, tuple) else (content,)
    task = next((getattr(x, "task", x) for x in told), None)
    parts = {
        "environment of the task": getattr(task, "make", None),
        "behavior": getattr(getattr(task, "behavior", None), "probe", None),
        "policy": getattr(told[0], "policy", None),
    }
    for role, part in parts.items():
        try:
            cloudpickle.dumps(part)
        except Exception:
            return role, _called(part)
    return "task", ""


def _called(part: Any) -> str:
    """A function or class by its full name, also inside what calls it; an object by its class."""
    for name in ("make", "func", "factory"):  # of Adapted, of a partial function, of Made
        part = getattr(part, name, part)
    known = part if hasattr(part, "__qualname__") else type(part)
    return f"{known.__module__}.{known.__qualname__}"


def packed(content: Any) -> bytes:
    """What a process needs to know once; import paths come first, because the rest needs them."""
    try:
        return pickle.dumps((sys.path, installed(), cloudpickle.dumps(content)))
    except Exception as error:
        raise unsendable(content, "worker processes", error) from error


def spawn(
    setup: int, descriptors: tuple[int, ...] = (), slot: int = 0
) -> tuple[subprocess.Popen[bytes], Connection]:
    """Start a process that reads `setup`: a worker if there are descriptors, else a first look."""
    with starting():
        return _spawn(setup, descriptors, slot)


def _spawn(
    setup: int, descriptors: tuple[int, ...], slot: int
) -> tuple[subprocess.Popen[bytes], Connection]:
    ours, theirs = socket.socketpair()
    for option in (socket.SO_SNDTIMEO, socket.SO_RCVTIMEO):
        ours.setsockopt(socket.SOL_SOCKET, option, struct.pack("ll", int(PATIENCE), 0))
    passed = (theirs.fileno(), setup, *descriptors)
    main_thread = threading.current_thread() is threading.main_thread()
    # The process inherits the mask, so no Ctrl-C reaches it before it ignores them.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
    try:
        process = subprocess.Popen(
            # -P: modules in the working directory must not replace Python's own.
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
    """How a process ended, in words."""
    if code >= 0:
        return "out of memory" if code == errno.ENOMEM else f"exit code {code}"
    name = signal_name(-code)
    return f"{name}, often sent when memory runs out" if name == "SIGKILL" else name


def signal_name(number: int) -> str:
    """The name of a signal; Python names only the first and the last real-time one."""
    first, last = getattr(signal, "SIGRTMIN", 0), getattr(signal, "SIGRTMAX", 0)
    if first < number < last:
        return f"SIGRTMIN+{number - first}"
    return signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"
