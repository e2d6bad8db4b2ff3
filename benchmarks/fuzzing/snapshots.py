"""Snapshots of the files of a run, to compare before and after."""

import hashlib
import json
import os
import stat
from pathlib import Path
from typing import Any

LARGEST_READ = 1 << 24  # bytes of a file whose content is compared


def generations_in(home: Path) -> dict[str, set[int]]:
    """The generations in the logs."""
    return {name: _numbers(home / name) for name in ("metrics.jsonl", "history.jsonl")}


def _numbers(path: Path) -> set[int]:
    if path.is_symlink() or not path.is_file() or path.stat().st_size > LARGEST_READ:
        return set()
    found = set()
    for line in path.read_bytes().splitlines():
        try:
            found.add(int(json.loads(line)["generation"]))
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
            continue
    return found


def snapshot(home: Path) -> dict[str, tuple[Any, ...]]:
    """Type, size and content (if small) of every path under a directory."""
    found = {}
    for top, folders, names in os.walk(home):
        for path in (Path(top) / name for name in (*folders, *names)):
            status = path.lstat()
            content: Any = status.st_mtime_ns
            if stat.S_ISREG(status.st_mode) and status.st_size <= LARGEST_READ:
                content = hashlib.sha256(path.read_bytes()).hexdigest()
            if stat.S_ISDIR(status.st_mode):
                content = None
            size = 0 if stat.S_ISDIR(status.st_mode) else status.st_size
            found[str(path.relative_to(home))] = (stat.S_IFMT(status.st_mode), size, content)
    return found
