"""`atari.py GAME FILE`, in the rivals' own environment: how fast the usual wrappers play a game.

Gymnasium's AtariPreprocessing and FrameStackObservation, and in PyTorch the networks of FILE, one
observation at a time in one thread. Nothing but playing: no perturbation, no batch, no novelty.
Prints {ready} as JSON, then {steps, seconds} for every line with a number of seconds.
"""

# The libraries are installed in another environment than ours:
# pyright: reportMissingImports=false

import json
import sys
import time
from collections.abc import Mapping
from itertools import cycle
from typing import Any

import ale_py
import cv2
import gymnasium as gym
import numpy as np
import torch
from gymnasium.wrappers import AtariPreprocessing, FrameStackObservation
from torch import nn

LAYERS = 4


def environment_of(game: str) -> gym.Env[Any, Any]:
    """As Gymnasium's documentation makes it, without sticky actions."""
    gym.register_envs(ale_py)
    ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
    name = "".join(word.capitalize() for word in game.split("_"))
    env = gym.make(f"ALE/{name}-v5", frameskip=1, repeat_action_probability=0.0)
    env = AtariPreprocessing(env, frame_skip=4, screen_size=84, grayscale_obs=True)
    return FrameStackObservation(env, 4)


def network_of(arrays: Mapping[str, Any], index: int) -> nn.Module:
    """A network of the file, with batch norm folded into its weights; inputs are 0 to 255."""
    pairs = [
        [torch.from_numpy(arrays[f"{kind}{layer}-{index}"]) for kind in ("weight", "bias")]
        for layer in range(LAYERS)
    ]
    layers = [
        nn.Conv2d(4, 16, 8, stride=4, padding=2),
        nn.Conv2d(16, 32, 4, stride=2),
        nn.Linear(32 * 11 * 11, 256),
        nn.Linear(256, len(pairs[-1][1])),
    ]
    for layer, (weight, bias) in zip(layers, pairs, strict=True):
        layer.load_state_dict({"weight": weight, "bias": bias})
    first, second, third, last = layers
    before_second = nn.ZeroPad2d((1, 2, 1, 2))  # SAME padding has one more at the end
    return nn.Sequential(
        *(first, nn.ReLU(), before_second, second, nn.ReLU()),
        *(nn.Flatten(), third, nn.ReLU(), last),
    ).eval()


def respond(network: nn.Module, observation: np.ndarray) -> torch.Tensor:
    return network(torch.from_numpy(observation).float().unsqueeze(0))[0]


def check(network: nn.Module, observation: np.ndarray, logits: np.ndarray) -> None:
    """Check that the network gives the same output as ours."""
    ours, theirs = logits, respond(network, observation).numpy()
    if not np.allclose(theirs, ours, rtol=1e-3, atol=1e-3 * np.abs(ours).max()):
        raise ValueError(f"the network must give {ours}, got {theirs}.")


def main(game: str, file: str) -> None:
    torch.set_num_threads(1)
    cv2.setNumThreads(1)
    env, networks = environment_of(game), []
    with np.load(file) as arrays, torch.inference_mode():
        for i, logits in enumerate(arrays["logits"]):
            networks.append(network_of(arrays, i))
            check(networks[-1], arrays["observation"], logits)
    turns = cycle(networks)
    network, (observation, _) = next(turns), env.reset(seed=0)
    print(json.dumps({"ready": game}), flush=True)
    with torch.inference_mode():
        for line in sys.stdin:
            steps, start, seconds = 0, time.perf_counter(), float(line)
            while time.perf_counter() - start < seconds:
                action = int(respond(network, observation).argmax())
                observation, _, terminated, truncated, _ = env.step(action)
                steps += 1
                if terminated or truncated:
                    network, (observation, _) = next(turns), env.reset()
            taken = time.perf_counter() - start
            print(json.dumps({"steps": steps, "seconds": taken}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
