"""The Gymnasium ids of this package, which `import nses` makes known."""

from typing import Any

from gymnasium.envs.registration import register, registry

POINT = "nses.rollouts.tasks.point:PointTrapEnv"
BODY = "nses.rollouts.tasks.mujoco:BodyEnv"
GAME = "nses.rollouts.tasks.atari:AtariEnv"
PAPER_TRAP: dict[str, float] = {}  # the walls of the paper are the default ones
SWIMMER_TRAP = {"back": 4.5, "half_width": 3.5, "depth": 2.0}  # wider: it is three metres long

# id → (class, step limit, its arguments)
ENVIRONMENTS: dict[str, tuple[str, int, dict[str, Any]]] = {
    "NSES/Point-v0": (POINT, 300, {"half_width": None}),
    "NSES/PointTrap-v0": (POINT, 300, {}),
    "NSES/Humanoid-v0": (BODY, 1000, {"body": "humanoid", "reward": "isotropic"}),
    "NSES/HumanoidTrap-v0": (
        BODY,
        1000,
        {"body": "humanoid", "reward": "forward", "trap": PAPER_TRAP},
    ),
    "NSES/Swimmer-v0": (BODY, 400, {"body": "swimmer", "reward": "forward"}),
    "NSES/SwimmerTrap-v0": (
        BODY,
        400,
        {"body": "swimmer", "reward": "forward", "trap": SWIMMER_TRAP},
    ),
    "NSES/AntTrap-v0": (BODY, 1000, {"body": "ant", "reward": "forward", "trap": PAPER_TRAP}),
    "NSES/HalfCheetah-v0": (BODY, 1000, {"body": "halfcheetah", "reward": "directional"}),
    "NSES/Atari-v0": (GAME, 5000, {"game": "frostbite"}),
}


def register_environments() -> None:
    for identifier, (entry_point, steps, arguments) in ENVIRONMENTS.items():
        if identifier not in registry:
            register(identifier, entry_point, max_episode_steps=steps, kwargs=arguments)
