"""The bare simulator, with the controls of a training generation."""

# MuJoCo's bindings come without types:
# pyright: reportAttributeAccessIssue=false

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import gymnasium as gym
import mujoco
import numpy as np
from numpy.typing import NDArray

from nses.core.algorithms import Search
from nses.core.archive import Archive
from nses.core.values import Candidates, Evaluation, State
from nses.execution.ledger import units_of
from nses.execution.processes import Processes
from nses.execution.serial import Serial
from nses.rollouts.episode import GymnasiumPlayer
from nses.rollouts.tasks.catalog import make_task

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Recording:
    """One episode as the simulator saw it."""

    qpos: Floats  # at the start
    qvel: Floats
    controls: Floats  # (steps, actuators)
    end: Floats  # qpos


class Recorder(gym.Wrapper[Any, Any, Any, Any]):
    """Records what a MuJoCo environment simulates."""

    def __init__(self, environment: gym.Env[Any, Any]):
        super().__init__(environment)
        self.data = environment.unwrapped.data
        self.starts: list[tuple[Floats, Floats]] = []
        self.controls: list[list[Floats]] = []
        self.ends: list[Floats] = []

    def reset(self, **arguments: Any) -> tuple[Any, dict[str, Any]]:
        first = super().reset(**arguments)
        self.starts.append((self.data.qpos.copy(), self.data.qvel.copy()))
        self.controls.append([])
        self.ends.append(self.data.qpos.copy())
        return first

    def step(self, action: Any) -> Any:
        result = super().step(action)
        self.controls[-1].append(self.data.ctrl.copy())
        self.ends[-1][:] = self.data.qpos
        return result

    def recordings(self) -> list[Recording]:
        return [
            Recording(*start, np.array(controls), end)
            for start, controls, end in zip(self.starts, self.controls, self.ends, strict=True)
        ]


def recordings_of(search: Search, state: State) -> list[Recording]:
    """All episodes of a generation, played again in Gymnasium, with the same results."""
    played: list[tuple[Candidates, Archive, Evaluation]] = []

    def evaluate(candidates: Candidates, A: Archive) -> Evaluation:
        played.append((candidates, A, search.evaluate(candidates, A)))
        return played[-1][2]

    replace(search, evaluate=evaluate).step(state)
    assert isinstance(search.evaluate, Processes)
    with Serial(replace(search.evaluate.plan, native=False)) as again:
        player = again.runner.player
        assert isinstance(player, GymnasiumPlayer)
        player.environment = recorder = Recorder(player.environment)
        for candidates, A, native in played:
            f = again(candidates, A).f
            assert np.array_equal(f, native.f, equal_nan=True), "the replayed episodes differ"
    return recorder.recordings()


@contextmanager
def replaying(task: str, recordings: list[Recording], taken: Any) -> Iterator[Callable[[], None]]:
    """Replay episodes with bare mj_step calls, unit by unit; all processes count in `taken`."""
    body: Any = make_task(task).make().unwrapped
    model, data, substeps = body.model, body.data, body.substeps
    ctrl, step = data.ctrl, mujoco.mj_step
    units = list(units_of(len(recordings)))

    def replay(recording: Recording) -> None:
        mujoco.mj_resetData(model, data)
        data.qpos[:], data.qvel[:] = recording.qpos, recording.qvel
        mujoco.mj_forward(model, data)
        for u in recording.controls:
            ctrl[:] = u
            step(model, data, substeps)
        assert np.array_equal(data.qpos, recording.end), "the replayed episode differs"

    def work() -> None:
        while True:
            with taken.get_lock():
                next_unit = taken.value
                taken.value += 1
            if next_unit >= len(units):
                return
            for i in units[next_unit]:
                replay(recordings[i])

    yield work
