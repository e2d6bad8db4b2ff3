"""What the bits of a result depend on besides its settings."""

import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

RECORDED = ("numpy", "numba", "scipy", "gymnasium", "mujoco", "ale-py", "nses")


def current_versions() -> dict[str, str]:
    """The versions that the bits of a result depend on."""
    versions = {"python": platform.python_version(), "cpu": cpu_model()}
    if libc := " ".join(platform.libc_ver()).strip():
        versions["libc"] = libc
    for name in RECORDED:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return versions


def cpu_model() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
