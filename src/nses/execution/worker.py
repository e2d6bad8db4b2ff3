"""A worker process: `python -m nses.execution.worker`, started by processes.py, plays what it is told.

It exits by itself when its coordinator is gone, whatever it is doing at that moment.
"""

import ctypes
import os
import pickle
import signal
import sys
import threading
import traceback
from multiprocessing.connection import Connection
from typing import Any


def main(arguments: list[str]) -> int:
    channel, batch, noise, slot, parent, main_thread = (int(x) for x in arguments)
    for signum in (signal.SIGINT, signal.SIGTERM):
        signal.signal(signum, signal.SIG_IGN)  # the coordinator decides when to stop
    for descriptor in (channel, batch, noise):
        os.set_inheritable(descriptor, False)
    if main_thread:
        _die_with_parent(parent)
    connection = Connection(channel)
    threading.Thread(target=_watch, args=(parent,), daemon=True).start()
    try:
        setup = connection.recv_bytes()
    except EOFError:
        return 0
    return _work(connection, setup, batch, noise, slot)


def _work(connection: Connection, setup: bytes, batch: int, noise: int, slot: int) -> int:
    from nses.execution.cpus import threads_of_this_process

    before = threads_of_this_process()
    try:
        sys.path, plan_bytes = pickle.loads(setup)
        plan, fields, noise_fields = pickle.loads(plan_bytes)
        import numpy as np

        from nses.core.archive import empty
        from nses.core.moments import Moments
        from nses.core.noise import Epsilon
        from nses.core.values import Candidates
        from nses.execution.evaluator import Runner
        from nses.execution.shared import map_arrays

        assert threads_of_this_process() == before, "BLAS started threads of its own in a worker"
        runner = Runner(plan)
    except Exception:
        connection.send(("broken", traceback.format_exc()))
        return 1
    shared = map_arrays(batch, fields)
    table = map_arrays(noise, noise_fields)["table"]
    d, observations = plan.policy.size, plan.policy.observation_size
    archive, number = empty(0), -1
    candidates: Any = None

    def starting(index: int) -> None:
        shared["current"][slot] = index
        shared["played"][slot] += 1

    connection.send(("ready", None))
    while True:
        try:
            kind, *content = connection.recv()
        except (EOFError, OSError):
            runner.close()
            return 0
        if kind == "archive":
            known, rows = content
            archive = archive.append(rows) if known else empty(rows.shape[1]).append(rows)
            continue
        current, perturbed, unit = content
        if current != number:
            number = current
            m = shared["moments"].copy()
            candidates = Candidates(
                theta=shared["theta"],
                moments=Moments(m[0], m[1 : 1 + observations], m[1 + observations :]),
                seeds=shared["seeds"],
                sigma=float(shared["sigma"][0]),
                epsilon=Epsilon(table, shared["offsets"], d) if perturbed else None,
                contributes=shared["contributes"].astype(np.bool_),
            )
        try:
            errors = runner.run(candidates, archive, unit, shared, starting)
        except MemoryError:
            connection.send(("memory", f"candidate {int(shared['current'][slot])}"))
            return 1
        except Exception:  # not of an episode, which are caught one by one: a bug of ours
            connection.send(("bug", traceback.format_exc()))
            return 1
        shared["current"][slot] = -1
        connection.send(("done", errors))


def _die_with_parent(parent: int) -> None:
    """On Linux the kernel ends this process with its coordinator, even inside foreign code."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
        if os.getppid() != parent:
            os._exit(0)


def _watch(parent: int) -> None:
    """Everywhere else, and where the coordinator is not a main thread, a look twice a second."""
    while os.getppid() == parent:
        threading.Event().wait(0.5)
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
