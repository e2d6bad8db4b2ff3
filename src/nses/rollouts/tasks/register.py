"""The Gymnasium ids of this package, which `import nses` makes known."""

from gymnasium.envs.registration import register, registry

ENVIRONMENTS = {
    "NSES/PointTrap-v0": ("nses.rollouts.tasks.point:PointTrapEnv", 300),
}


def register_environments() -> None:
    for identifier, (entry_point, steps) in ENVIRONMENTS.items():
        if identifier not in registry:
            register(identifier, entry_point, max_episode_steps=steps)
