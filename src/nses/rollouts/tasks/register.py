"""The Gymnasium ids of this package; Gymnasium calls `register_environments` when imported."""

from gymnasium.envs.registration import register, registry

ENVIRONMENTS = {
    "NSES/PointTrap-v0": ("nses.rollouts.tasks.point:PointTrapEnv", 300),
}


def register_environments() -> None:
    for identifier, (entry_point, steps) in ENVIRONMENTS.items():
        if identifier not in registry:
            register(identifier, entry_point, max_episode_steps=steps)
