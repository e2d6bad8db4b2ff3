"""`python -m benchmarks.racing.ours ALGORITHM TASK SEED FOLDER START SECONDS`: our part of a race.

Trains with the laptop recipe, for Gymnasium's reward, until it is killed. START is what the
monotonic clock said when the program was started; whoever started it looks after SECONDS.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np

import nses
from benchmarks.racing.points import Array, Network, Recorder
from benchmarks.search import ENDLESS
from nses.core.moments import CLIP
from nses.core.values import Member
from nses.rollouts.numbers import places_of

WORKERS = 2
# What the rivals train on. The paper's humanoid is rewarded for distance in any direction.
REWARD = {"reward": "directional"}
# Gymnasium's humanoid does not observe what is always 0, the world's rows of cinert, cvel and
# cfrc_ext and the actuators' forces on the root: numbers of each array in ours and in Gymnasium's.
OBSERVED = {"humanoid": ((22, 22), (23, 23), (140, 130), (84, 78), (23, 17), (84, 78))}


def main(algorithm: Any, task: str, seed: int, folder: Path, start: float) -> None:
    listener = Listener(nses.recipe(task, "laptop", algorithm), Recorder(folder, start))
    nses.train(
        task, algorithm=algorithm, seed=seed, run_dir=folder / "run", environment=REWARD,
        listener=listener, generations=ENDLESS, workers=WORKERS, tensorboard=False, pictures=False,
    )  # fmt: skip


class Listener:
    """Records, of the members, the one with the highest score; ES has only one."""

    def __init__(self, config: nses.Config, record: Recorder):
        self.config, self.record = config, record
        self.scores: dict[int, float] = {}  # of each member, when it was updated last

    def __call__(self, state: nses.State, record: dict[str, Any]) -> None:
        self.scores[record["member"]] = record["score"]
        leader = max(self.scores, key=lambda member: self.scores[member])
        network = network_of(self.config, state.members[leader])
        self.record(state.env_steps, network)


def network_of(config: nses.Config, member: Member) -> Network:
    """A member as a policy of Gymnasium's environment.

    What that does not observe is 0 and has a mean of 0, so it contributes nothing. What the policy
    does not see has weights of 0.
    """
    mean, std, theta = member.moments.mean, member.moments.std, member.theta.astype(np.float64)
    layers, inputs = [], mean.size
    for outputs in (*config.hidden, None):
        outputs = outputs or theta.size // (inputs + 1)
        weight, bias, theta = np.split(theta, [inputs * outputs, (inputs + 1) * outputs])
        layers.append((weight.reshape(inputs, outputs).T, bias))
        inputs = outputs
    common = observed(config.task, mean.size)
    seen = places_of(config.observed or (":",), common.size)
    taken, places = common[seen], (np.cumsum(common) - 1)[seen]
    places = places[taken]

    def spread(numbers: Array, rest: float) -> Array:
        """These numbers of what the policy sees among those of Gymnasium's observation."""
        whole = np.full((*numbers.shape[:-1], int(common.sum())), rest)
        whole[..., places] = numbers[..., taken]
        return whole

    weight, bias = layers[0]
    layers[0] = spread(weight, 0.0), bias
    return Network(spread(mean, 0.0), spread(std, 1.0), CLIP, tuple(layers))


def observed(task: str, size: int) -> Array:
    """Which numbers of our observation, of this size if nothing else is known, Gymnasium's has."""
    arrays = OBSERVED.get(task, ((size, size),))
    return np.concatenate([np.arange(ours) >= ours - theirs for ours, theirs in arrays])


if __name__ == "__main__":
    algorithm, task, seed, folder, start, _ = sys.argv[1:]
    main(algorithm, task, int(seed), Path(folder), float(start))
