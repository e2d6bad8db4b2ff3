"""nses: novelty-seeking evolution strategies for deep reinforcement learning."""

__version__ = "0.1.0"
