"""A task for a network that remembers: a cue is shown once, and asked for some steps later.

    $ cd examples
    $ nses train memory:Recall --network gru --hidden 8 --algorithm es --max-steps 20 \\
        --behavior final:answer --generations 200 --n 100 --evaluation-episodes 10

When the question comes, a network without a memory sees the same whatever the cue was, so that it
cannot score above 0 on average. One that remembers gets up to 1. The best policies of seeds 0 to 4
score 1.00 each in 200 fresh episodes; with --network mlp, they score -0.11 to 0.06.
"""

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray

WAIT = 6  # steps between the cue and the question

Observation = NDArray[np.float32]


class Recall(gymnasium.Env[Observation, NDArray[np.float32]]):
    """Observations are (cue, question): (±1, 0) at first, (0, 0) while waiting, then (0, 1).

    The reward of the last step is the cue times the answer: 1 for the cue itself, -1 for the other.
    """

    observation_space = Box(-1, 1, (2,), np.float32)
    action_space = Box(-1, 1, (1,), np.float32)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        super().reset(seed=seed)
        self.cue, self.waited = self.np_random.choice([-1.0, 1.0]), 0
        return np.array([self.cue, 0.0], np.float32), {"answer": 0.0}

    def step(
        self, action: NDArray[np.float32]
    ) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        answer, asked = float(action[0]), self.waited > WAIT
        self.waited += 1
        observation = np.array([0.0, float(self.waited > WAIT)], np.float32)
        return observation, self.cue * answer if asked else 0.0, asked, False, {"answer": answer}
