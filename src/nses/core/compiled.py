"""How this package compiles: cached on disk, without the GIL, divisions as in C, never fastmath.

Python's check for division by zero would keep loops from using vector registers.

Numba recompiles a function when its file changes, but not when a file it calls into does. So the
cache directory is named after a hash of all these files, the versions and the processor.
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
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import llvmlite
import llvmlite.binding
import numba
import numpy as np

CHOSEN = "NUMBA_CACHE_DIR"  # an environment variable; the workers inherit it
FORGOTTEN = 30 * 86_400.0  # seconds without use after which another version's cache is removed


@dataclass(frozen=True)
class Cache:
    """Where compiled code is cached."""

    directory: Path | None  # None: nowhere
    why: str = ""  # why it is not the usual place


def sources() -> list[Path]:
    """The files of all compiled functions and of the constants in them."""
    package = Path(__file__).parents[1]
    return sorted([*package.glob("core/*.py"), *package.glob("rollouts/native/*.py")])


def key() -> str:
    """A hash of everything that compiled code depends on."""
    cpu = (llvmlite.binding.get_host_cpu_name(), _cpu_features())
    versions = (numba.__version__, llvmlite.__version__, np.__version__)
    digest = hashlib.sha256(repr((platform.python_version(), versions, cpu)).encode())
    for path in sources():
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:24]


def _cpu_features() -> str:
    try:
        return llvmlite.binding.get_host_cpu_features().flatten()
    except RuntimeError:  # LLVM cannot tell; Numba does the same
        return ""


def find() -> Cache:
    """The usual place, else a temporary directory for this process, else nowhere."""
    chosen, home = os.environ.get(CHOSEN), os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    usual = Path(chosen or home).expanduser() / "nses" / "compiled" / key()
    try:
        prepare(usual, own=not chosen)
        return Cache(usual)
    except (OSError, RuntimeError) as error:  # RuntimeError: there is no home directory
        why = str(error)
    try:
        return Cache(_temporary(usual.name), why)
    except OSError as error:
        return Cache(None, f"{why}; {error}")


def _temporary(name: str) -> Path:
    root = tempfile.mkdtemp(prefix="nses-")  # mode 0700, with a name that cannot be guessed
    atexit.register(_remove, root, os.getpid())
    os.environ[CHOSEN] = root
    directory = Path(root) / "nses" / "compiled" / name
    prepare(directory, own=True)
    return directory


def prepare(directory: Path, own: bool) -> None:
    """Make a writable directory, which nobody else may write to if it is to be our `own`; OSError.

    Whatever is in it will be executed.
    """
    new = not directory.exists()
    for level in (directory.parents[1], directory.parent, directory):
        level.mkdir(mode=0o700, parents=True, exist_ok=True)
        if own and _of_others(level.stat()):
            raise PermissionError(f"others may write to {level}")
    tempfile.TemporaryFile(dir=directory).close()
    os.utime(directory)  # so that `_forget` sees that it is in use
    if new:
        _forget(directory.parent)


def _of_others(status: os.stat_result) -> bool:
    shared = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return status.st_uid != os.geteuid() or bool(shared)


def _forget(parent: Path) -> None:
    """Remove directories that have not been used for long: those of older versions."""
    for path in parent.iterdir():
        try:
            if path.stat().st_mtime < time.time() - FORGOTTEN:
                shutil.rmtree(path)
        except OSError:  # another process is removing it, too
            continue


def _remove(directory: str, process: int) -> None:
    if os.getpid() == process:  # not a fork of it
        shutil.rmtree(directory, ignore_errors=True)


def _look_for_blas_later() -> None:
    """Load Numba's functions of arrays without SciPy's linear algebra.

    Numba imports that to see whether it is there, when the first compiled function is loaded: a
    fifth of the time that a worker takes to start, for nothing that we compile. We depend on SciPy,
    so it is there; whoever compiles np.dot still has Numba import it then.
    """
    from numba.np import linalg

    look, linalg.ensure_blas = linalg.ensure_blas, lambda: None
    try:
        from numba.np import arraymath

        arraymath.ensure_blas = look  # pyright: ignore[reportPrivateImportUsage]
    finally:
        linalg.ensure_blas = look


CACHE = find()
with suppress(ImportError, AttributeError):  # of a version of Numba that does not do so
    _look_for_blas_later()


@contextmanager
def _cached() -> Iterator[bool]:
    """While active, Numba caches new functions in our directory; yields whether there is one."""
    before = numba.config.CACHE_DIR  # type: ignore[attr-defined]
    numba.config.CACHE_DIR = str(CACHE.directory or "")  # type: ignore[attr-defined]
    try:
        yield CACHE.directory is not None
    finally:
        numba.config.CACHE_DIR = before  # type: ignore[attr-defined]


def compiled(function: Callable[..., Any]) -> Any:
    with _cached() as cache:
        return numba.njit(function, cache=cache, nogil=True, error_model="numpy")
