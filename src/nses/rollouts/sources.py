"""The files that a task's own code comes from, so that a run can say when they have changed."""

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import FunctionType
from typing import Any

import gymnasium as gym

from nses.rollouts.policies.pytorch import TorchPolicy

LIBRARIES = {
    "nses",
    "gymnasium",
    "torch",
    "builtins",
    "typing",
    "abc",
}  # a run records their versions
PARTS = ("environment", "behavior", "policy")  # each may be a user's own
LARGEST = 16 << 20  # bytes; larger files are skipped


def sources_of(environment: gym.Env[Any, Any], probe: Any) -> dict[str, str]:
    """SHA-256 of the source of the environment and of its behavior, if it can be found."""
    found = {
        "environment": _digest(_files(_classes(environment))),
        "behavior": _digest(_files([probe if isinstance(probe, FunctionType) else type(probe)])),
    }
    return {name: digest for name, digest in found.items() if digest}


def source_of(policy: object) -> dict[str, str]:
    """The same for a user's own policy, or the parts of a torch module."""
    parts = policy.module.modules() if isinstance(policy, TorchPolicy) else [policy]
    digest = _digest(_files(kind for part in parts for kind in type(part).__mro__))
    return {"policy": digest} if digest else {}


def _classes(environment: gym.Env[Any, Any]) -> Iterator[type]:
    """The classes of the environment and all its wrappers, with their base classes."""
    layer = environment
    while True:
        yield from type(layer).__mro__
        if not isinstance(layer, gym.Wrapper):
            return
        layer = layer.env


def _files(owners: Iterable[Any]) -> set[Path]:
    """The files of these classes and functions, from their code: workers may lack the module."""
    files = set()
    for owner in owners:
        if str(owner.__module__).partition(".")[0] in LIBRARIES:
            continue
        parts = [owner] if isinstance(owner, FunctionType) else vars(owner).values()
        files |= {Path(x.__code__.co_filename) for x in parts if isinstance(x, FunctionType)}
    return files


def _digest(files: Iterable[Path]) -> str:
    """A hash of all files that can be read; code typed at a prompt has none."""
    contents = []
    for file in files:
        try:
            if file.is_file() and file.stat().st_size <= LARGEST:
                contents.append(hashlib.sha256(file.read_bytes()).digest())
        except OSError:
            continue
    return hashlib.sha256(b"".join(sorted(contents))).hexdigest() if contents else ""
