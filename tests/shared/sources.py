"""Source text that tests put into files, as users do."""

from pathlib import Path

# An environment; whoever uses it says how long a STEP is.
WALK = """
import gymnasium, numpy

class Walk(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-9, 9, (1,))
    action_space = gymnasium.spaces.Box(-1, 1, (1,))
    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x = self.np_random.normal(size=1)
        return self.x, {}
    def step(self, action):
        self.x = numpy.clip(self.x + STEP * action, -9, 9)
        return self.x, float(self.x[0]), False, False, {}
"""

# The same, but it takes its time, and hardly any of the processor's.
DOZING = f"""
import time
STEP = 0.5
{WALK}
class Dozing(Walk):
    def reset(self, *, seed=None, options=None):
        time.sleep(0.02)
        return super().reset(seed=seed)
"""

# Two modules: one registers that environment with Gymnasium, the other defines a network for it.
REGISTERED = {
    "walks.py": f"STEP = 0.5\n{WALK}\ngymnasium.register('Walk-v0', Walk, max_episode_steps=4)\n",
    "nets.py": """
import numpy

class Net:
    moments_size = 0
    def __init__(self, observation_size, outputs):
        self.observation_size, self.outputs = observation_size, outputs
        self.size = observation_size * outputs
    def init(self, rng):
        return rng.standard_normal(self.size, numpy.float32)
    def bind(self, theta, moments):
        W = theta.reshape(self.outputs, self.observation_size)
        return lambda observation: (W @ observation).astype(numpy.float32)
""",
}


def write_registered(directory: Path) -> None:
    for name, text in REGISTERED.items():
        (directory / name).write_text(text)
