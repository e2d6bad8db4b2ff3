"""The directory of checkpoints: what is in it, and what is removed."""

import os
import re
from pathlib import Path

from nses.experiment.runs.storage import StorageFailed

MANIFEST, TENSORS, SCALARS = "manifest.json", "state.safetensors", "state.json"
FILES = (MANIFEST, TENSORS, SCALARS)
COMMITTED = re.compile(r"([0-9]{6}|[1-9][0-9]{6,17})")
UNCOMMITTED = re.compile(r"\.(writing|replaced)-([0-9]{6,18})-[0-9a-f]{8}")


def stored(directory: Path) -> list[tuple[int, Path]]:
    """Everything that may be a checkpoint, newest first, including one left half replaced."""
    found: list[tuple[int, bool, Path]] = []
    for name in names(directory):
        if match := COMMITTED.fullmatch(name):
            found.append((int(match[1]), True, directory / name))
        elif (match := UNCOMMITTED.fullmatch(name)) and match[1] == "replaced":
            found.append((int(match[2]), False, directory / name))
    return [(generation, path) for generation, _, path in sorted(found, reverse=True)]


def retire(directory: Path, generation: int, keep_last: int, keep_every: int) -> None:
    """Remove all but the last few and every m-th; those newer than `generation` stay."""
    older = [(g, path) for g, path in stored(directory) if g <= generation]
    for g, path in older[keep_last:]:
        if g % keep_every:
            discard(path)


def sweep(directory: Path, phase: str) -> None:
    """Remove what a crash has left of a checkpoint in this phase: "writing" or "replaced"."""
    for name in names(directory):
        match = UNCOMMITTED.fullmatch(name)
        if match and match[1] == phase:
            discard(directory / name)


def discard(path: Path) -> None:
    """Remove a directory of ours, unless there is anything foreign in it."""
    if path.is_symlink() or not path.is_dir():
        return
    with os.scandir(path) as entries:
        ours = {x.name: x.name in FILES and x.is_file(follow_symlinks=False) for x in entries}
    if all(ours.values()):
        for name in sorted(ours):  # the manifest first: without it, the rest is not a checkpoint
            os.unlink(path / name)
        os.rmdir(path)


def names(directory: Path) -> list[str]:
    try:
        return os.listdir(directory)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise StorageFailed(f"could not list {directory}: {error.strerror or error}") from error
