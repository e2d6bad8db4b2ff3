"""What the bits of a result depend on besides its settings."""

import hashlib
import platform
from collections.abc import Iterable
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGE = Path(__file__).parents[1]
PROTOCOL = ("execution",)  # the code with which machines talk to each other
PLAYING = ("core", "rollouts")  # the code on which results depend
Code = dict[str, str]  # a digest of each source file, by its name

RECORDED = ("numpy", "numba", "scipy", "gymnasium", "mujoco", "ale-py", "nses")


def current_versions() -> dict[str, str]:
    """The versions that the bits of a result depend on."""
    versions = {"python": platform.python_version(), "cpu": cpu_model()}
    if libc := " ".join(platform.libc_ver()).strip():
        versions["libc"] = libc
    found = {name: _version(name) for name in RECORDED}
    return versions | {name: x for name, x in found.items() if x is not None}


@cache  # reading the metadata of a package takes longer than a generation of a small task
def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def code_of(folders: Iterable[str]) -> Code:
    """What tells apart two installations of the same version, with different code."""
    files = sorted(file for folder in folders for file in (PACKAGE / folder).rglob("*.py"))
    return {
        str(file.relative_to(PACKAGE)): hashlib.sha256(file.read_bytes()).hexdigest()[:16]
        for file in files
    }


def cpu_model() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
