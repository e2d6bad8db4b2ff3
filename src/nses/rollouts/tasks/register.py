"""The Gymnasium ids of this package, which `import nses` registers."""

from typing import Any

from gymnasium.envs.registration import register, registry

from nses.rollouts.tasks.bodies import BODY_TASKS

POINT = "nses.rollouts.tasks.point:PointTrapEnv"
BODY = "nses.rollouts.tasks.mujoco:BodyEnv"
GAME = "nses.rollouts.tasks.atari:AtariEnv"

# id → (class, step limit, its arguments)
ENVIRONMENTS: dict[str, tuple[str, int, dict[str, Any]]] = {
    "NSES/Point-v0": (POINT, 300, {"half_width": None}),
    "NSES/PointTrap-v0": (POINT, 300, {}),
    **{task.identifier: (BODY, task.steps, task.arguments) for task in BODY_TASKS.values()},
    "NSES/Atari-v0": (GAME, 5000, {"game": "frostbite"}),
}


def register_environments() -> None:
    for identifier, (entry_point, steps, arguments) in ENVIRONMENTS.items():
        if identifier not in registry:
            register(identifier, entry_point, max_episode_steps=steps, kwargs=arguments)
