"""Source text that tests put into files, as users do."""

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
