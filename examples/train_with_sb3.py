"""Another library on our environments: PPO from Stable-Baselines3 swims into the trap.

python examples/train_with_sb3.py [STEPS]
"""

# Stable-Baselines3 is not a dependency of nses:
# pyright: reportMissingImports=false

import sys

import gymnasium as gym

import nses  # noqa: F401  (registers the ids that begin with NSES/)

try:
    from stable_baselines3 import PPO
except ImportError:
    print("this example needs Stable-Baselines3: pip install stable-baselines3", file=sys.stderr)
    sys.exit(2)


def main(steps: int) -> None:
    environment = gym.make("NSES/SwimmerTrap-v0")
    model = PPO("MlpPolicy", environment, seed=1, device="cpu")
    model.learn(steps)

    observation, info = environment.reset(seed=0)
    end = False
    while not end:
        action, _ = model.predict(observation, deterministic=True)
        observation, _, terminated, truncated, info = environment.step(action)
        end = terminated or truncated
    print(f"After {steps} steps PPO swims to x = {info['x']:.2f}.")
    print("The trap's back wall is at 4.5, and the swimmer is 3 long.")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20_000)
