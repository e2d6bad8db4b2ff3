"""Crashes in the middle of a save.

Each crash is a real one: the process kills itself after the n-th step of a save. With `power` the
machine goes with it: what was written and not yet synced is cut in half.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

from checkpoints import CONFIG, a_state, assert_no_trace_is_left_over, grown, same, uncommitted
from nses.core.values import State
from nses.experiment.runs import checkpoint, storage
from nses.experiment.runs.checkpoint import load, save


class Doom:
    """Counts the steps of a save, and ends the process after the n-th."""

    def __init__(self, steps: int, power: bool):
        self.left, self.power = steps, power
        self.unsynced: dict[int, int] = {}  # inode → descriptor

    def step(self) -> None:
        if self.left == 0:
            for descriptor in self.unsynced.values() if self.power else ():
                os.ftruncate(descriptor, os.fstat(descriptor).st_size // 2)
            os.kill(os.getpid(), signal.SIGKILL)
        self.left -= 1

    def impend(self) -> None:
        """Make every call that changes the disk a step."""
        for name in ("rename", "replace", "mkdir", "unlink", "rmdir", "fsync"):
            setattr(os, name, self.stepping(getattr(os, name)))
        storage.open = self.open  # type: ignore[attr-defined]

    def stepping(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def step(*arguments: Any, **options: Any) -> None:
            call(*arguments, **options)
            if call.__name__ == "fsync":
                self.unsynced.pop(os.fstat(arguments[0]).st_ino, None)
            self.step()

        return step

    def open(self, path: Path, mode: str, **options: Any) -> Any:
        file = open(path, mode, **options)  # noqa: SIM115  (its user closes it)
        return file if mode == "rb" else Torn(file, self)


class Torn:
    """A file that is written in three parts."""

    def __init__(self, file: Any, doom: Doom):
        self.file, self.doom = file, doom
        doom.unsynced[os.fstat(file.fileno()).st_ino] = os.dup(file.fileno())
        doom.step()

    def write(self, data: bytes) -> None:
        third = len(data) // 3 + 1
        for start in range(0, len(data), third):
            self.file.write(data[start : start + third])
            self.file.flush()
            self.doom.step()

    def flush(self) -> None:
        self.file.flush()

    def fileno(self) -> int:
        return self.file.fileno()

    def __enter__(self) -> "Torn":
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()


Scene = tuple[list[State], State, State]  # what is there, what is saved in a crash, and after it
NEW = a_state(5, d=50)
SCENES: dict[str, Scene] = {
    "the first": ([], NEW, a_state(6)),
    "the next": ([a_state(1), a_state(2), a_state(3), a_state(4, d=50)], NEW, a_state(6)),
    "the same again": ([a_state(4, d=50)], a_state(4, seed=1), a_state(6)),
    "the first traces": ([], grown(1), grown(2)),
    "traces of another way": ([grown(1), grown(3, seed=1)], grown(4, seed=2), grown(5, seed=2)),
}


def fsync(descriptor: int) -> None:
    """The real one takes most of the time of a save, and syncs what the test needs not."""


def crash_at_every_step(scratch: Path, scene: Scene, power: bool) -> dict[str, int]:
    """How often the old State was found after a crash, and how often the new one."""
    os.fsync = fsync  # the kernel survives its processes; Doom keeps account of the rest
    earlier, new, after = scene
    found = {"steps": 0, "old": 0, "new": 0}
    for steps in count():
        directory = scratch / str(steps)
        directory.mkdir(parents=True)
        for state in earlier:
            save(directory, state, CONFIG)
        child = os.fork()
        if child == 0:
            Doom(steps, power).impend()
            save(directory, new, CONFIG, keep_last=2)
            os._exit(0)
        status = os.waitpid(child, 0)[1]
        assert status == 0 or os.WTERMSIG(status) == signal.SIGKILL
        if checkpoint.stored(directory):
            state = load(directory).state
            assert same(state, new) or (earlier and same(state, earlier[-1]))
            found["new" if same(state, new) else "old"] += 1
        else:
            assert not earlier
            found["old"] += 1
        save(directory, after, CONFIG)  # life goes on, and tidies up
        assert same(load(directory).state, after)
        assert uncommitted(directory) == []
        assert_no_trace_is_left_over(directory)
        found["steps"] = steps
        if status == 0:
            return found
    raise AssertionError


def crashes(scene: str, scratch: Path, power: bool) -> dict[str, int]:
    """The same, in a process of its own, which forks: this one may have threads."""
    command = [sys.executable, __file__, scene, str(scratch), str(int(power))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


if __name__ == "__main__":
    scene, scratch, power = sys.argv[1:]
    print(json.dumps(crash_at_every_step(Path(scratch), SCENES[scene], power == "1")))
