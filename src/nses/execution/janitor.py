"""A program that outlives a run, to remove what the run's own Ray cluster may leave behind.

Its argument is the folder of the cluster. It waits until its standard input ends, as it does
however the run ends. It imports nothing of ours, so it starts at once.
"""

import os
import shutil
import signal
import sys
import time
from pathlib import Path

PROCESSES = Path("/proc")
PATIENCE = 5.0  # seconds in which killed processes must be gone


def main(folder: str) -> None:
    for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):  # meant for the run
        signal.signal(signum, signal.SIG_IGN)
    spared = {os.getpid(), os.getppid()}  # the run may go on without its cluster
    while sys.stdin.buffer.read(1):
        pass
    end = time.monotonic() + PATIENCE
    while (left := using(folder) - spared) and time.monotonic() < end:
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:  # it is gone already
                continue
        time.sleep(0.02)
    shutil.rmtree(folder, ignore_errors=True)


def using(folder: str) -> set[int]:
    """Processes that name the folder in their command, or have a file open in it."""
    found = set()
    for process in PROCESSES.glob("[0-9]*"):
        try:  # some of Ray's processes replace their command
            files = [os.readlink(file) for file in (process / "fd").iterdir()]
            words = os.fsdecode((process / "cmdline").read_bytes())
        except OSError:  # it ended while we looked, or is somebody else's
            continue
        if folder in words or any(file.startswith(f"{folder}/") for file in files):
            found.add(int(process.name))
    return found


if __name__ == "__main__":
    main(sys.argv[1])
