"""States to store, and what lies in a directory of checkpoints."""

import json
import math
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from nses.core.archive import Archive, archive_of
from nses.core.moments import Moments
from nses.core.optimizers import OptimizerState
from nses.core.seeding import Purpose, generator
from nses.core.values import Best, Member, State
from nses.core.weight import Weight
from nses.experiment.runs import checkpoint
from nses.experiment.runs.checkpoint import MANIFEST, TRACES, load

CONFIG = {"task": "point-trap", "sigma": 0.02, "hidden": [16, 16], "note": "äöü", "n": None}


def a_state(generation: int, seed: int = 0, d: int = 7) -> State:
    """A State with members, an archive and numbers that look like those of a run."""
    rng = generator(seed, generation, 0, Purpose.POLICY_INIT)

    def member() -> Member:
        theta, m, v = rng.standard_normal((3, d), np.float32)
        moments = Moments(float(rng.random()), rng.random(3), rng.random(3))
        return Member(theta, OptimizerState(generation, m, v), moments, rng.random(2))

    members = (member(), member())
    best = Best(members[0].theta, members[0].moments, members[0].behavior, 1.5, generation, 1)
    archive = archive_of(rng.random((2, 2))).append(rng.random(2))
    return State(generation, members, archive, (Weight(0.5),), best, 10 * generation, 999, 1)


def remembered(state: State, archive: Archive) -> State:
    """A state whose behaviors are these traces."""
    b = archive.traces
    members = tuple(replace(x, behavior=b[i % len(b)]) for i, x in enumerate(state.members))
    best = replace(state.best, behavior=b[0])
    return replace(state, archive=archive, members=members, best=best)


def grown(generation: int, seed: int = 0, length: int = 40) -> State:
    """A state whose archive has one trace more each generation, as that of a run."""
    rngs = (generator(seed, i, 1, Purpose.EPISODE) for i in range(generation + 2))
    traces = [rng.integers(0, 256, (length, 4), np.uint8) for rng in rngs]
    return remembered(a_state(generation), archive_of(traces))


def same(a: Any, b: Any) -> bool:
    """Whether two values are the same bit for bit (for a NaN outside a tensor: also a NaN)."""
    if type(a) is not type(b):
        return False
    if isinstance(a, Archive):
        return same(tuple(a.traces or a.rows), tuple(b.traces or b.rows))
    if is_dataclass(a):
        return all(same(getattr(a, x.name), getattr(b, x.name)) for x in fields(a))
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, np.ndarray):
        return (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())
    if isinstance(a, float):
        return struct.pack("d", a) == struct.pack("d", b) or (math.isnan(a) and math.isnan(b))
    return a == b


def tree(directory: Path) -> dict[str, bytes]:
    """All files below a directory, and what is in them."""
    files = (path for path in directory.rglob("*") if path.is_file())
    return {str(path.relative_to(directory)): path.read_bytes() for path in files}


def uncommitted(directory: Path) -> list[str]:
    """What should not be left lying about."""
    return [name for name in os.listdir(directory) if name.startswith(".")]


@contextmanager
def one_bit_flipped(path: Path, where: float, bit: int) -> Iterator[None]:
    """For a while, a file has another bit at this fraction of its length."""
    data = path.read_bytes()
    try:
        path.write_bytes(flipped(data, int(where * len(data)), bit))
        yield
    finally:
        path.write_bytes(data)


def flipped(data: bytes, position: int, bit: int) -> bytes:
    return data[:position] + bytes([data[position] ^ 1 << bit]) + data[position + 1 :]


def fill(ballast: Path, free: int) -> None:
    """Leave `free` bytes of a disk."""
    ballast.unlink(missing_ok=True)
    status = os.statvfs(ballast.parent)
    ballast.write_bytes(bytes(max(0, status.f_bavail * status.f_frsize - free)))


def assert_no_trace_is_left_over(directory: Path) -> None:
    """All that is kept of traces is what some checkpoint needs."""
    needed: set[str] = set()
    for _, path in checkpoint.stored(directory):
        entries = json.loads((path / MANIFEST).read_bytes())["traces"].values()
        needed |= {f"{entry['sha256']}.safetensors" for entry in entries}
    assert {path.name for path in (directory / TRACES).glob("*")} == needed


def assert_falls_back(directory: Path, *reasons: str) -> None:
    """Generation 2 is refused, by name and reason, and generation 1 is used, which is said."""
    loaded = load(directory)
    assert same(loaded.state, a_state(1))
    assert loaded.path == directory / "000001"
    told = " ".join(loaded.notes)
    for reason in ("Checkpoint 000002 was refused: ", "Checkpoint 000001 is used", *reasons):
        assert reason in told
