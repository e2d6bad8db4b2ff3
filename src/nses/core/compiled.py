"""How this package compiles: cached on disk, without the GIL, divisions as in C, never fastmath.

Python's check for division by zero would keep loops from using vector registers.

Numba looks at the file of a function, but not at the files of what it calls, so the directory of
the cache is named after all of them, and after the versions and the processor that matter.
"""

import atexit
import hashlib
import os
import platform
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import llvmlite
import llvmlite.binding
import numba
import numpy as np

CHOSEN = "NUMBA_CACHE_DIR"  # of the environment; the workers inherit it
FORGOTTEN = 30 * 86_400.0  # seconds after which a directory of other sources is removed


@dataclass(frozen=True)
class Cache:
    """Where compiled code is kept; without a directory, nowhere. `why` not in the usual place."""

    directory: Path | None
    why: str = ""


def sources() -> list[Path]:
    """The files of all compiled functions, and of the constants that are compiled into them."""
    package = Path(__file__).parents[1]
    return sorted([*package.glob("core/*.py"), *package.glob("rollouts/native/*.py")])


def key() -> str:
    """Changes with whatever compiled code depends on."""
    cpu = (llvmlite.binding.get_host_cpu_name(), _cpu_features())
    versions = (numba.__version__, llvmlite.__version__, np.__version__)
    digest = hashlib.sha256(repr((platform.python_version(), versions, cpu)).encode())
    for path in sources():
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:24]


def _cpu_features() -> str:
    try:
        return llvmlite.binding.get_host_cpu_features().flatten()
    except RuntimeError:  # as Numba does where LLVM cannot tell
        return ""


def find() -> Cache:
    """The usual place, else a temporary directory that ends with this process, else nowhere."""
    chosen, home = os.environ.get(CHOSEN), os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    usual = Path(chosen or home).expanduser() / "nses" / "compiled" / key()
    try:
        prepare(usual, own=not chosen)
        return Cache(usual)
    except (OSError, RuntimeError) as error:  # RuntimeError: nobody knows where home is
        why = str(error)
    try:
        return Cache(_temporary(usual.name), why)
    except OSError as error:
        return Cache(None, f"{why}; {error}")


def _temporary(name: str) -> Path:
    root = tempfile.mkdtemp(prefix="nses-")  # mode 0700, and nobody can guess its name
    atexit.register(_remove, root, os.getpid())
    os.environ[CHOSEN] = root
    directory = Path(root) / "nses" / "compiled" / name
    prepare(directory, own=True)
    return directory


def prepare(directory: Path, own: bool) -> None:
    """Make a directory that can be written to, by nobody else if it is to be our own; OSError."""
    new = not directory.exists()
    for level in (directory.parents[1], directory.parent, directory):
        level.mkdir(mode=0o700, parents=True, exist_ok=True)
        if own and _of_others(level.stat()):  # what is in it is executed
            raise PermissionError(f"others may write to {level}")
    tempfile.TemporaryFile(dir=directory).close()
    os.utime(directory)  # it is in use
    if new:
        _forget(directory.parent)


def _of_others(status: os.stat_result) -> bool:
    shared = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return status.st_uid != os.geteuid() or bool(shared)


def _forget(parent: Path) -> None:
    """Removes directories that have not been used for long: those of older versions."""
    for path in parent.iterdir():
        try:
            if path.stat().st_mtime < time.time() - FORGOTTEN:
                shutil.rmtree(path, ignore_errors=True)
        except OSError:  # somebody else has just done so
            continue


def _remove(directory: str, process: int) -> None:
    if os.getpid() == process:  # not a fork of it
        shutil.rmtree(directory, ignore_errors=True)


CACHE = find()


@contextmanager
def _cached() -> Iterator[bool]:
    """While active, Numba caches new functions in our directory; whether there is one."""
    before = numba.config.CACHE_DIR  # type: ignore[attr-defined]
    numba.config.CACHE_DIR = str(CACHE.directory or "")  # type: ignore[attr-defined]
    try:
        yield CACHE.directory is not None
    finally:
        numba.config.CACHE_DIR = before  # type: ignore[attr-defined]


def compiled(function: Callable[..., Any]) -> Any:
    with _cached() as cache:
        return numba.njit(function, cache=cache, nogil=True, error_model="numpy")
