"""Gymnasium's Atari wrappers and PyTorch, in the rivals' environment, with our networks."""

import json
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import rivals
from nses.core import moments
from nses.execution.cpus import ONE_THREAD
from nses.rollouts.native.convolution import N1, N2, N3, W1, W2, W3, W4, adapt, norms, work
from nses.rollouts.policies.conv import Conv

Vector = NDArray[np.float32]


@contextmanager
def wrappers(game: str, policy: Conv, thetas: list[Vector]) -> Iterator[Callable[[float], float]]:
    """A function that lets another process play for some seconds: its steps per second."""
    rivals.install()
    without = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    with tempfile.TemporaryDirectory() as directory:
        write_networks(policy, thetas, file := Path(directory) / "networks.npz")
        with subprocess.Popen(
            [rivals.VENV / "bin" / "python", rivals.HERE / "atari.py", game, file],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=without | ONE_THREAD,
        ) as process:
            asking, answers = process.stdin, process.stdout
            assert asking is not None
            assert answers is not None

            def answer() -> Any:
                line = answers.readline()
                if not line:
                    raise RuntimeError(f"the wrappers failed on {game}; see the error above.")
                return json.loads(line)

            def speed(seconds: float) -> float:
                print(seconds, file=asking, flush=True)
                result = answer()
                return result["steps"] / result["seconds"]

            answer()  # ready
            yield speed


def write_networks(policy: Conv, thetas: list[Vector], file: Path) -> None:
    """Write the layers of every network, and its output for one observation."""
    observation = policy.reference[0]
    arrays: dict[str, Any] = {"observation": observation.transpose(2, 0, 1)}
    logits = []
    for i, theta in enumerate(thetas):
        for layer, (weight, bias) in enumerate(folded(policy, theta)):
            arrays[f"weight{layer}-{i}"], arrays[f"bias{layer}-{i}"] = weight, bias
        respond = policy.bind(theta, moments.nothing(0))
        logits.append(respond(observation.reshape(-1).astype(np.float64)))
    np.savez(file, logits=np.array(logits), **arrays)


def folded(policy: Conv, theta: Vector) -> list[tuple[Vector, Vector]]:
    """Weights and biases of the four layers as PyTorch has them, virtual batch norm included."""
    maps, batch = norms(), np.ascontiguousarray(policy.reference)
    adapt(theta, batch.reshape(len(batch), -1), work(policy.actions), maps)
    (scale1, shift1), (scale2, shift2) = maps.first[:, :16], maps.second[:, :32]
    scale3, shift3 = maps.third
    # Ours are (row, column, channel, unit), followed by b, γ and β; PyTorch's are (unit, channel,
    # row, column).
    first = theta[W1:N1].reshape(8, 8, 4, 16) * scale1
    second = theta[W2:N2].reshape(4, 4, 16, 32) * scale2
    third = theta[W3:N3].reshape(11, 11, 32, 256) * scale3
    last = theta[W4:].reshape(257, -1)
    return [
        (first.transpose(3, 2, 0, 1), shift1),
        (second.transpose(3, 2, 0, 1), shift2),
        (third.transpose(3, 2, 0, 1).reshape(256, -1), shift3),
        (last[:256].T, last[256]),
    ]
