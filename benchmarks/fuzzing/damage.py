"""Damage to the files of a run, all of it drawn from one random generator."""

import os
import shutil
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from random import Random

from benchmarks.fuzzing.edits import EDITS, Change, reseal, write

HUGE = 1 << 40  # bytes of a sparse file


@dataclass(frozen=True)
class Damage:
    """What was done to a file of a run."""

    kind: str
    path: str  # in the run directory
    accident: bool  # a failing disk or machine can do this; otherwise somebody did it on purpose

    def __str__(self) -> str:
        return f"{self.kind} {self.path}"


def damage(home: Path, rng: Random, others: Sequence[Path]) -> Damage:
    """Damage one thing in the run at `home`; `others` are undamaged runs to take files from."""
    if rng.random() < 0.1:
        kind = rng.choice(sorted(FOLDERS))
        return Damage(kind, FOLDERS[kind](home, rng, others), kind not in ("foreign", "renamed"))
    path = _chosen(home, rng)
    name = str(path.relative_to(home))
    if rng.random() < 0.3:
        kind = rng.choice(sorted(PLACES))
        PLACES[kind](path, rng, others)
        return Damage(kind, name, kind != "swapped")
    accident = rng.random() < 0.5
    changes = BYTES if accident else EDITS
    kind = rng.choice(sorted(changes))
    write(path, changes[kind](path.read_bytes(), path, rng))
    sealed = not accident and rng.random() < 0.5 and reseal(path)
    return Damage(f"{kind} and sealed" if sealed else kind, name, accident)


def files_of(home: Path) -> list[Path]:
    """The regular files of a run, sorted by name."""
    found = [Path(top) / name for top, _, names in os.walk(home) for name in names]
    return sorted(path for path in found if path.is_file() and not path.is_symlink())


def _chosen(home: Path, rng: Random) -> Path:
    """A random file; all names are equally likely, however often they occur."""
    files = [path for path in files_of(home) if path.stat().st_size < 1 << 24]
    if not files:
        path = home / "config.json"
        with suppress(OSError):
            path.write_text("{}")
        return path
    name = rng.choice(sorted({path.name for path in files}))
    return rng.choice([path for path in files if path.name == name])


# Bytes that a disk, a cable or a power cut may change.


def _flip(data: bytes, path: Path, rng: Random) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 8)) if data else 0):
        changed[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _truncate(data: bytes, path: Path, rng: Random) -> bytes:
    return data[: rng.choice((0, 1, max(0, len(data) - 1), rng.randint(0, len(data))))]


def _extend(data: bytes, path: Path, rng: Random) -> bytes:
    tail = rng.choice(
        (b"\0", b"\n", b"{", b"\xff\xfe", rng.randbytes(50), data[:100], b"\0" * 4096)
    )
    return data + tail


def _blank(data: bytes, path: Path, rng: Random) -> bytes:
    begin = rng.randint(0, len(data))
    end = min(len(data), begin + rng.choice((1, 16, 512, 4096)))
    return data[:begin] + rng.choice((b"\0", b"\xff")) * (end - begin) + data[end:]


def _splice(data: bytes, path: Path, rng: Random) -> bytes:
    a, b, c = sorted(rng.randint(0, len(data)) for _ in range(3))
    return rng.choice((data[:a] + data[b:], data[:b] + data[a:], data[:a] + data[b:c] + data[a:]))


# Something else in place of the file: not a regular file, or another one.


def _delete(path: Path, rng: Random, others: Sequence[Path]) -> None:
    path.unlink()


def _directory(path: Path, rng: Random, others: Sequence[Path]) -> None:
    path.unlink()
    path.mkdir()


def _pipe(path: Path, rng: Random, others: Sequence[Path]) -> None:
    path.unlink()
    os.mkfifo(path)


def _socket(path: Path, rng: Random, others: Sequence[Path]) -> None:
    path.unlink()
    with socket.socket(socket.AF_UNIX) as listener, suppress(OSError):  # the path may be too long
        listener.bind(str(path))


def _link(path: Path, rng: Random, others: Sequence[Path]) -> None:
    path.unlink()
    targets = ("/dev/zero", "/dev/full", "/dev/tty", "/proc/self/mem", "nowhere", ".", path.name)
    path.symlink_to(rng.choice((*targets, rng.choice(others).resolve() / "config.json")))


def _sparse(path: Path, rng: Random, others: Sequence[Path]) -> None:
    """A sparse file of terabytes, after the content or without it."""
    if rng.random() < 0.5:
        write(path, b"")
    with suppress(OSError):  # some file systems have no such files
        os.truncate(path, HUGE)


def _swapped(path: Path, rng: Random, others: Sequence[Path]) -> None:
    donors = [p for other in others for p in files_of(other) if p.stat().st_size < 1 << 24]
    like = [p for p in donors if p.name == path.name] if rng.random() < 0.6 else donors
    write(path, rng.choice(like or donors).read_bytes())


# Whole checkpoints.


def _checkpoint(home: Path, rng: Random) -> Path:
    found = sorted(p for p in (home / "checkpoints").glob("0*") if p.is_dir())
    return rng.choice(found) if found else home / "checkpoints"


def _lost(home: Path, rng: Random, others: Sequence[Path]) -> str:
    """Remove a checkpoint, or all of them."""
    path = rng.choice((_checkpoint(home, rng), home / "checkpoints"))
    shutil.rmtree(path, ignore_errors=True)
    return str(path.relative_to(home))


def _renamed(home: Path, rng: Random, others: Sequence[Path]) -> str:
    path = _checkpoint(home, rng)
    name = rng.choice(
        ("000001", "000009", "999999999999", "0" * 30, "x", ".replaced-000009-00000000")
    )
    with suppress(OSError):
        path.rename(path.with_name(name))
    return f"{path.relative_to(home)} to {name}"


def _foreign(home: Path, rng: Random, others: Sequence[Path]) -> str:
    """Add a foreign file."""
    folder = rng.choice((home, home / "checkpoints", _checkpoint(home, rng)))
    names = (
        "notes.txt",
        "000010",
        ".writing-000009-00000000",
        "latest.json.bak",
        "scipy.py",
        "\udcff",
    )
    name = rng.choice(names)
    with suppress(OSError):
        (folder / name).write_bytes(rng.choice((b"", b"raise SystemExit(77)\n", rng.randbytes(99))))
    return f"{(folder / name).relative_to(home)!s}".encode(errors="replace").decode()


def _linked(home: Path, rng: Random, others: Sequence[Path]) -> str:
    """Replace a directory by a link to itself, to nowhere or to a device."""
    path = rng.choice((_checkpoint(home, rng), home / "checkpoints"))
    shutil.rmtree(path, ignore_errors=True)
    with suppress(OSError):
        path.symlink_to(rng.choice((path.name, "nowhere", "/dev/zero")))
    return str(path.relative_to(home))


BYTES: dict[str, Change] = {
    "flip": _flip, "truncate": _truncate, "extend": _extend, "blank": _blank, "splice": _splice,
}  # fmt: skip
PLACES: dict[str, Callable[[Path, Random, Sequence[Path]], None]] = {
    "delete": _delete, "directory": _directory, "pipe": _pipe, "socket": _socket, "link": _link,
    "sparse": _sparse, "swapped": _swapped,
}  # fmt: skip
FOLDERS: dict[str, Callable[[Path, Random, Sequence[Path]], str]] = {
    "lost": _lost, "renamed": _renamed, "foreign": _foreign, "linked": _linked,
}  # fmt: skip
