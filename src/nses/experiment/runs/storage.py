"""Names, files and locks of a run directory, safe from crashes, full disks and hostile input."""

import errno
import fcntl
import hashlib
import os
import re
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Self

from nses.errors import CheckpointRefused, StorageFailed, UsageError

LOCK = ".lock"
LONGEST_NAME = 100
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def safe_name(name: str) -> str:
    """`name`, if it is a valid component of a path on any system; UsageError otherwise."""
    if not NAME.fullmatch(name):
        raise UsageError(
            f"a name must have 1 to {LONGEST_NAME} letters, digits, '.', '_' or '-' and begin with "
            f"a letter or a digit, got {_shown(name)}; choose another one."
        )
    return name


def contained(directory: str | Path, name: str) -> Path:
    """The resolved path of `name` (components separated by '/'), which must be in the directory."""
    for component in name.split("/"):
        safe_name(component)
    base = Path(os.path.realpath(directory))
    path = Path(os.path.realpath(base / name))
    if path == base or not path.is_relative_to(base):
        raise UsageError(
            f"{_shown(name)} leads out of {base}, to {path}; replace the link by a directory."
        )
    return path


def slug(task_name: str) -> str:
    """A task name as one component of a path: ALE/Pong-v5 is ALE__Pong-v5, a.b:C is a.b--C.

    If other characters have to be replaced, part of a hash keeps different names different.
    """
    if (
        len(task_name) > LONGEST_NAME
        or not task_name.isprintable()  # NUL, line ends, lone surrogates
        or not any(map(str.isalnum, task_name))  # in any script
        or any(part in ("", ".", "..") for part in task_name.split("/"))
    ):
        raise UsageError(
            "a task must be a Gymnasium id such as CartPole-v1 or ALE/Pong-v5, or "
            f"module:attribute, of at most {LONGEST_NAME} characters, got {_shown(task_name)}."
        )
    readable = task_name.replace("/", "__").replace(":", "--")
    component = re.sub(r"[^A-Za-z0-9._-]", "-", readable).lstrip("._-")
    if component != readable:
        mark = hashlib.sha256(task_name.encode()).hexdigest()[:8]
        component = f"{component[: LONGEST_NAME - 9] or 'task'}-{mark}"
    return safe_name(component)


@contextmanager
def storing(path: Path) -> Iterator[None]:
    """Turn an OSError while `path` is written into a StorageFailed that names it."""
    try:
        yield
    except StorageFailed:
        raise
    except OSError as error:
        raise StorageFailed(
            f"could not write {path}: {error.strerror or error}. "
            "Make room, or check that the directory exists and is writable."
        ) from error


def write_atomically(path: Path, data: bytes) -> None:
    """Write `data` to `path`; after a crash, `path` holds all of it or what was there before."""
    with replacing(path) as temporary, storing(path):
        write_synced(temporary, data)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary path to write to; at the end, that file replaces `path`."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.writing")
    with storing(path):
        _remove_leftovers(path)
    try:
        yield temporary
        with storing(path):
            os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):  # the first error is the one to report
            temporary.unlink(missing_ok=True)
        raise
    with storing(path):
        sync_directory(path.parent)


def write_synced(path: Path, data: bytes) -> None:
    """Write a new file and wait until it is on the disk."""
    with open(path, "xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def sync_directory(path: Path) -> None:
    """Wait until the names in a directory are on the disk."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno != errno.EINVAL:  # some network file systems cannot do this, nor need it
            raise
    finally:
        os.close(descriptor)


@contextmanager
def regular_file(path: Path, largest: int = sys.maxsize) -> Iterator[tuple[BinaryIO, int]]:
    """A file open for reading, and its size; a link, a pipe or a device is refused.

    Every file of a run is read through this: it never blocks, and refuses files that are too large.
    """
    try:
        with open(path, "rb", opener=_open_in_place) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise CheckpointRefused(f"{path.name} is not a regular file")
            if status.st_size > largest:
                raise CheckpointRefused(
                    f"{path.name} has {status.st_size:,} bytes, more than nses ever writes"
                )
            yield file, status.st_size
    except OSError as error:
        raise CheckpointRefused(
            f"{path.name} cannot be read ({error.strerror or error})"
        ) from error
    except MemoryError as error:
        raise CheckpointRefused(f"{path.name} needs more memory than is available") from error


def lines_in(file: BinaryIO, longest: int) -> Iterator[bytes]:
    """The lines of a file; CheckpointRefused if one has more than `longest` bytes."""
    while line := file.readline(longest + 1):
        if len(line) > longest:
            raise CheckpointRefused(
                f"{Path(file.name).name} has a line of more than {longest:,} bytes"
            )
        yield line


class DirectoryLock:
    """The right to write in a directory, held by one process until it closes the lock or dies."""

    def __init__(self, directory: str | Path):
        path = Path(directory) / LOCK
        with storing(path):
            # Not inheritable (PEP 446): a worker that outlives the run does not keep its lock.
            descriptor = _open_in_place(path, os.O_RDWR | os.O_CREAT, 0o644)
            try:
                if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                    raise OSError(errno.EINVAL, "it is not a regular file")
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.ftruncate(descriptor, 0)
                os.pwrite(descriptor, f"process {os.getpid()} on {os.uname().nodename}".encode(), 0)
            except BlockingIOError:
                holder = os.pread(descriptor, 200, 0).decode(errors="replace")
                os.close(descriptor)
                raise UsageError(
                    f"{directory} is in use by {holder or 'another process'}; "
                    "wait for it, stop it, or choose another --run-dir."
                ) from None
            except BaseException:
                os.close(descriptor)
                raise
        self._descriptor = descriptor

    def close(self) -> None:
        """Release the lock. The file stays: if it were removed, two processes could lock it."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _shown(name: str) -> str:
    return repr(name if len(name) <= LONGEST_NAME else name[:LONGEST_NAME] + "…")


def _open_in_place(path: str | Path, flags: int, mode: int = 0o666) -> int:
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK, mode)  # a pipe would block for ever


def _remove_leftovers(path: Path) -> None:
    """Remove temporaries of `path` whose writers are dead (or had our process id, reused)."""
    pattern = re.compile(rf"\.{re.escape(path.name)}\.([1-9][0-9]{{0,9}})\.writing")
    for name in os.listdir(path.parent):
        match = pattern.fullmatch(name)
        if match and (int(match[1]) == os.getpid() or not _alive(int(match[1]))):
            with suppress(FileNotFoundError):  # another process may have removed it
                os.unlink(path.parent / name)


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass
    return True
