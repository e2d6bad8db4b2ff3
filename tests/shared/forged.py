"""Files that an attacker can put into a checkpoint."""

import json
import os
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

from checkpoints import CONFIG
from nses.core.values import State
from nses.experiment.runs import checkpoint, formats
from nses.experiment.runs.checkpoint import MANIFEST, SCALARS, TENSORS


class Bomb:
    """An object whose unpickling creates a file."""

    def __init__(self, crater: Path):
        self.crater = crater

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return os.mkdir, (str(self.crater),)


def forge(path: Path, traces: Any = None, **files: bytes) -> None:
    """Other files in a checkpoint, with a manifest that vouches for them, as an attacker can."""
    for name, data in files.items():
        (path / {"tensors": TENSORS, "scalars": SCALARS}[name]).write_bytes(data)
    entries = {
        name: {"size": (path / name).stat().st_size, "sha256": checkpoint.sha256(data)}
        for name in (TENSORS, SCALARS)
        for data in [(path / name).read_bytes()]
    }
    known = json.loads((path / MANIFEST).read_bytes())["traces"] if traces is None else traces
    manifest = formats.sealed({"config": CONFIG, "files": entries, "traces": known})
    (path / MANIFEST).write_bytes(manifest)


def forge_state(path: Path, state: State) -> None:
    """Another state in a checkpoint."""
    scalars, tensors = checkpoint.take_apart(State, state)
    files = checkpoint._files(scalars, tensors, {}, CONFIG)
    forge(path, {}, tensors=files[TENSORS], scalars=files[SCALARS])


def tensor_file(header: Any, body: bytes = b"", length: int | None = None) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + body


def tensor(shape: list[Any], begin: int, end: int, dtype: str = "F64") -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}
