"""A small environment, and the ways in which it can be made to fail."""

import ctypes
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from nses.rollouts.behaviors import parse_behavior
from nses.rollouts.tasks.task import Task

STEPS = 5
LOCK = threading.Lock()


class Drift(gym.Env[Any, Any]):
    """A point that drifts and can be pushed; every seed is another episode."""

    def __init__(self) -> None:
        self.observation_space = spaces.Box(-np.inf, np.inf, (3,), np.float64)
        self.action_space = spaces.Box(-1.0, 1.0, (1,), np.float32)
        self.x = self.y = self.reward = 0.0
        self.length = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.x, self.y = self.np_random.normal(size=2).tolist()
        self.reward, self.length = 0.0, 0
        return self.look(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.length += 1
        self.x += 0.5 * float(action[0]) + 0.1 * self.np_random.normal()
        self.y += self.x
        end = self.length == STEPS
        return self.look(), self.x + self.reward, end, False, {"x": self.x, "y": self.y}

    def look(self) -> Any:
        return np.array([self.x, self.y, self.length])


Fault = Callable[["Faulty"], None]


class Faulty(Drift):
    """Drift with a fault in the second step of the episodes of some seeds.

    With `marks`, a directory, every seed fails only the first time, in whichever process.
    """

    def __init__(self, fault: Fault, seeds: Collection[int], marks: Path | None):
        super().__init__()
        self.fault, self.seeds, self.marks = fault, seeds, marks
        self.seed: int | None = None

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        self.seed = seed
        return super().reset(seed=seed)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        if self.length == 1 and self.seed in self.seeds and first(self.marks, self.seed):
            self.fault(self)
        return super().step(action)


def first(marks: Path | None, name: object) -> bool:
    """Whether nobody was here before under this name; always without marks."""
    if marks is None:
        return True
    try:
        (marks / str(name)).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def drift() -> Task:
    return Task("drift", Drift, parse_behavior("final:x,y"), STEPS)


def faulty(fault: Fault, seeds: Collection[int], marks: Path | None = None) -> Task:
    return drift().revised(name="faulty", make=partial(Faulty, fault, seeds, marks))


# Faults of an episode.


def pay_nan(environment: Faulty) -> None:
    environment.reward = np.nan


def pay_infinity(environment: Faulty) -> None:
    environment.reward = np.inf


def show_nan(environment: Faulty) -> None:
    environment.x = np.nan


def complain(environment: Faulty) -> None:
    raise RuntimeError(f"the simulator is upset about {environment.seed}")


class Unsendable(Exception):
    """Pickles, but cannot be made from its pickle."""

    def __init__(self, number: int, *, text: str):
        super().__init__(f"{text} {number}")


def complain_unsendably(environment: Faulty) -> None:
    raise Unsendable(42, text="the answer is")


def segfault(environment: Faulty) -> None:
    ctypes.string_at(0)


def be_killed(environment: Faulty) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def leave(environment: Faulty) -> None:
    sys.exit(7)


class Panic(BaseException):
    """As of a library in another language."""


def panic(environment: Faulty) -> None:
    raise Panic("index out of bounds")


def vanish(environment: Faulty) -> None:
    os._exit(7)


def hang(environment: Faulty) -> None:
    time.sleep(3600)


def hang_with_gil(environment: Faulty) -> None:
    ctypes.PyDLL(None).sleep(3600)


def exhaust_memory(environment: Faulty) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (1 << 20, hard))
    np.ones(1 << 28)


def dawdle(environment: Faulty) -> None:
    time.sleep(0.02)


def play_on(environment: Faulty) -> None:
    """An episode that never ends and never hangs either."""
    while True:
        sum(range(1000))


def hold(gate: Path, environment: Faulty) -> None:
    """Plays on once the gate is there."""
    while not gate.exists():
        time.sleep(0.005)


def hold_or_die(gate: Path, deadly: int, environment: Faulty) -> None:
    """The episode of one seed kills its process; others play on once the gate is there."""
    if environment.seed == deadly:
        segfault(environment)
    hold(gate, environment)


def note(notes: Path, gate: Path, held: Collection[int], environment: Faulty) -> None:
    """Writes down which seed is played; some wait for the gate."""
    with notes.open("a") as file:
        file.write(f"{environment.seed}\n")
    if environment.seed in held:
        hold(gate, environment)


def wait_for_lock(environment: Faulty) -> None:
    with LOCK:
        pass


def use_a_program(environment: Faulty) -> None:
    """It must end when it is told to, as it does outside of workers."""
    program = subprocess.Popen(["sleep", "60"])
    program.terminate()
    assert program.wait(10) == -signal.SIGTERM


def fork_and_be_killed(environment: Faulty) -> None:
    """The child lives on with all descriptors of the worker, until its mark is removed."""
    assert environment.marks is not None
    mark = environment.marks / str(environment.seed)
    if os.fork() == 0:
        while mark.exists():
            time.sleep(0.05)
        os._exit(0)
    os.kill(os.getpid(), signal.SIGKILL)


# Faults outside of episodes.


class BadEnding(Faulty):
    """Fails to close."""

    def close(self) -> None:
        raise OSError("the window is stuck")


class LateStart(Drift):
    """Does something first wherever it is made, except in the process called `here`."""

    def __init__(self, here: int, act: Callable[[], None], marks: Path | None):
        super().__init__()
        if os.getpid() != here and first(marks, "start"):
            act()


def late_start(act: Callable[[], None], marks: Path | None = None) -> Task:
    make = partial(LateStart, os.getpid(), act, marks)
    return drift().revised(name="late start", make=make)


class Killed(Drift):
    """Somebody kills its process as long as there is no mark; where it can, it leaves one."""

    def __init__(self, mark: Path):
        super().__init__()
        if not mark.exists():
            if mark.parent.exists():
                mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)


def cursed(curse: Path, make: Callable[[], Any]) -> Any:
    """An environment that cannot be made in the children of the process that the file names."""
    if curse.exists() and curse.read_text() == str(os.getppid()):
        os._exit(7)
    return make()


def sleep_long() -> None:
    time.sleep(3600)


def take_three_seconds() -> None:
    time.sleep(3.0)


def refuse() -> None:
    raise Unsendable(7, text="no licence for worker")
