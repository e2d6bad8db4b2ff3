"""Traces on disk, each stored once, in a file named by its SHA-256; checkpoints refer to them.

An Atari trace has 640 KB, and every checkpoint of a run needs all traces before it.
"""

import os
import re
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import safetensors.numpy

from nses.experiment.runs.encoding import (
    Table,
    Tensors,
    count,
    fields,
    machine_memory,
    mapping,
    read_tensors,
    sha256,
    shown,
    text,
)
from nses.experiment.runs.storage import (
    CheckpointRefused,
    StorageFailed,
    regular_file,
    sync_directory,
    write_synced,
)

TENSOR = "trace"  # its name in its file
SEAL = re.compile(r"[0-9a-f]{64}")
STORED = re.compile(r"([0-9a-f]{64})\.safetensors")
UNFINISHED = re.compile(r"\.writing-[0-9a-f]{64}")


def keep(directory: Path, traces: Tensors) -> Table:
    """Store traces, and return the entries by which a manifest finds them again.

    A trace that is already stored is compared to the last byte, and replaced if it is damaged:
    all checkpoints share it, and the run that saves still has the right bytes.
    """
    if not traces:
        return {}
    _make(directory)
    entries: Table = {}
    for name, trace in traces.items():
        data = safetensors.numpy.save({TENSOR: trace})
        seal = sha256(data)
        if not _holds(_path(directory, seal), data):
            _write(directory, seal, data)
        entries[name] = {"size": len(data), "sha256": seal}
    sync_directory(directory)
    return entries


def fetch(directory: Path, entries: Any) -> Tensors:
    """The traces of these entries; those that share a file share their memory."""
    wanted = {name: _checked(entry) for name, entry in mapping(entries).items()}
    files = set(wanted.values())
    if files and not _is_ours(directory):
        raise CheckpointRefused(f"{directory.name} is not a directory")
    total = sum(size for size, _ in files)
    if total > machine_memory():
        raise CheckpointRefused(f"its traces have {total} bytes, more than this machine's memory")
    read = {file: _read(directory, *file) for file in files}
    return {name: read[file] for name, file in wanted.items()}


def seals(entries: Any) -> set[str]:
    """The SHA-256 of all traces that these entries refer to."""
    return {_checked(entry)[1] for entry in mapping(entries).values()}


def stored(directory: Path) -> set[str]:
    """The SHA-256 of all traces in a directory; nothing else in it is ours."""
    if not _is_ours(directory):
        return set()
    with os.scandir(directory) as files:
        names = [x.name for x in files if x.is_file(follow_symlinks=False)]
    return {match[1] for name in names if (match := STORED.fullmatch(name))}


def remove(directory: Path, unused: Iterable[str]) -> None:
    """Remove traces that are no longer referred to."""
    for seal in sorted(unused):
        os.unlink(_path(directory, seal))


def _make(directory: Path) -> None:
    """Make the directory, and remove what a crash has left in it."""
    if not os.path.lexists(directory):
        directory.mkdir()
        sync_directory(directory.parent)
    if not _is_ours(directory):
        raise StorageFailed(
            f"could not write in {directory}: it should be a directory, but is a link or a file. "
            "Move it away."
        )
    with os.scandir(directory) as files:
        left = [x.path for x in files if UNFINISHED.fullmatch(x.name) and not x.is_dir()]
    for path in left:
        os.unlink(path)


def _write(directory: Path, seal: str, data: bytes) -> None:
    """Write a trace; it gets its name once it is on the disk and reads back as written."""
    temporary = directory / f".writing-{seal}"
    try:
        write_synced(temporary, data)
        if not _holds(temporary, data):
            raise StorageFailed(f"{_path(directory, seal)} does not read back as it was written.")
        os.rename(temporary, _path(directory, seal))
    except BaseException:
        with suppress(OSError):  # the first error is the one to report
            temporary.unlink(missing_ok=True)
        raise


def _holds(path: Path, data: bytes) -> bool:
    try:
        with regular_file(path) as (file, size):
            return size == len(data) and file.read(size) == data
    except CheckpointRefused:  # it is missing, or not a regular file
        return False


def _read(directory: Path, size: int, seal: str) -> Any:
    tensors, _ = read_tensors(_path(directory, seal), {"size": size, "sha256": seal})
    return fields(tensors, TENSOR)[0]


def _checked(entry: Any) -> tuple[int, str]:
    size, seal = fields(entry, "size", "sha256")
    if not SEAL.fullmatch(text(seal)):
        raise CheckpointRefused(f"expected a SHA-256, got {shown(seal)}")
    return count(size), seal


def _path(directory: Path, seal: str) -> Path:
    return directory / f"{seal}.safetensors"


def _is_ours(directory: Path) -> bool:
    return directory.is_dir() and not directory.is_symlink()
