"""The bare Atari emulator, playing the frames of training episodes."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Tape:
    """Sits between an Emulator and ALE, and records every call."""

    def __init__(self, ale: Any):
        self.ale = ale
        self.episodes: list[list[int]] = []  # the action of every frame
        self.ends: list[NDArray[np.uint8]] = []  # the RAM after the last frame

    def __getattr__(self, name: str) -> Any:
        return getattr(self.ale, name)

    def restoreState(self, state: Any) -> None:  # noqa: N802, ALE's name
        self.finish()
        self.episodes.append([])
        self.ale.restoreState(state)

    def act(self, action: int) -> int:
        self.episodes[-1].append(action)
        return self.ale.act(action)

    def finish(self) -> None:
        """End the current episode, if there is one."""
        if len(self.ends) < len(self.episodes):
            self.ends.append(self.ale.getRAM())


def recorded(emulator: Any, act: Callable[..., object], *arguments: Any) -> Tape:
    """All frames that an Emulator plays during act(*arguments)."""
    ale = emulator.ale
    emulator.ale = tape = Tape(ale)
    try:
        act(*arguments)
        tape.finish()
    finally:
        emulator.ale = ale
    return tape


def replay(emulator: Any, tape: Tape) -> None:
    """Play the same frames again, without a policy and without looking at the screen."""
    ale = emulator.ale
    act = ale.act
    for actions, end in zip(tape.episodes, tape.ends, strict=True):
        ale.restoreState(emulator.start)
        for action in actions:
            act(action)
        assert np.array_equal(ale.getRAM(), end), "the replayed episode differs"
