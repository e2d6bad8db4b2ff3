"""`python -m benchmarks.racing.ours ALGORITHM TASK SEED FOLDER START SECONDS`: our part of a race.

Trains with the best settings known to `benchmarks search` until it is killed. If those simulate
otherwise than the task does, the last part of the time sees the task's own simulation. START is
what the monotonic clock said when the program was started.
"""

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import nses
from benchmarks.racing.points import Array, Network, Recorder
from benchmarks.search import ENDLESS, LAST, SPACES, Settings
from nses.core.moments import CLIP
from nses.core.values import Member

WORKERS = 2
# What the rivals train on. The paper's humanoid is rewarded for distance in any direction.
REWARD = {"reward": "directional"}
# Gymnasium's humanoid does not observe what is always 0, the world's rows of cinert, cvel and
# cfrc_ext and the actuators' forces on the root: numbers of each array in ours and in Gymnasium's.
OBSERVED = {"humanoid": ((22, 22), (23, 23), (140, 130), (84, 78), (23, 17), (84, 78))}


def main(algorithm: str, task: str, seed: int, folder: Path, start: float, seconds: float) -> None:
    record, steps = Recorder(folder, start), 0
    origin: Settings = {}
    for i, (settings, share) in enumerate(parts(algorithm, task)):
        listener = Listener(task, settings["hidden"], record, steps, start + share * seconds)
        run = nses.train(
            task, seed=seed, run_dir=folder / f"part-{i}", listener=listener, generations=ENDLESS,
            workers=WORKERS, tensorboard=False, pictures=False, **settings | origin,
        )  # fmt: skip
        steps += run.metrics[-1]["env_steps"]
        origin = {"start_from": f"{run.path}:best"}


def parts(algorithm: str, task: str) -> Iterator[tuple[Settings, float]]:
    """Settings in turn, each with the share of the time that is over when they are done."""
    space = SPACES[task]
    settings: Settings = space.shared | space.first | {"algorithm": algorithm}
    simulation = settings.get("environment", {})
    if simulation:
        yield settings | {"environment": REWARD | simulation}, 1 - LAST
    yield settings | {"environment": REWARD}, 1.0


class Listener:
    """Records, of the members, the one with the highest score; ES has only one."""

    def __init__(
        self, task: str, hidden: tuple[int, ...], record: Recorder, steps: int, end: float
    ):
        self.task, self.hidden, self.record = task, hidden, record
        self.steps, self.end = steps, end  # before this part, and when it is over
        self.scores: dict[int, float] = {}  # of each member, when it was updated last

    def __call__(self, state: nses.State, record: dict[str, Any]) -> None:
        self.scores[record["member"]] = record["score"]
        leader = max(self.scores, key=lambda member: self.scores[member])
        network = network_of(self.task, self.hidden, state.members[leader])
        self.record(self.steps + state.env_steps, network)
        if time.monotonic() >= self.end:
            raise nses.StopTraining


def network_of(task: str, hidden: tuple[int, ...], member: Member) -> Network:
    """A member as a policy of Gymnasium's environment.

    What that does not observe is 0 and has a mean of 0, so it contributes nothing.
    """
    mean, std, theta = member.moments.mean, member.moments.std, member.theta.astype(np.float64)
    layers, inputs = [], mean.size
    for outputs in (*hidden, None):
        outputs = outputs or theta.size // (inputs + 1)
        weight, bias, theta = np.split(theta, [inputs * outputs, (inputs + 1) * outputs])
        layers.append((weight.reshape(inputs, outputs).T, bias))
        inputs = outputs
    common = observed(task, mean.size)
    weight, bias = layers[0]
    layers[0] = weight[:, common], bias
    return Network(mean[common], std[common], CLIP, tuple(layers))


def observed(task: str, size: int) -> Array:
    """Which numbers of our observation Gymnasium's has, too."""
    arrays = OBSERVED.get(task, ((size, size),))
    return np.concatenate([np.arange(ours) >= ours - theirs for ours, theirs in arrays])


if __name__ == "__main__":
    algorithm, task, seed, folder, start, seconds = sys.argv[1:]
    main(algorithm, task, int(seed), Path(folder), float(start), float(seconds))
