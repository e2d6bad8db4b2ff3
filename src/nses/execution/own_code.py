"""A user's own modules as values, so that other machines can import them without installing them.

They travel as sources, by name. At the other end an importer finds them before anything else of
the same name, just as on the user's machine.
"""

import importlib.metadata
import pickle
import site
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from importlib.abc import InspectLoader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

# The source of each module by its name, where it came from, and whether it is a package.
Sources = dict[str, tuple[str, str, bool]]

MOST_FILES = 2000
MOST_BYTES = 16 << 20


def own_sources() -> Sources:
    """All imported modules that no package manager installed, and the rest of their packages.

    Empty if they are too many to send: then they must be installed on the other machines.
    """
    installed = set(importlib.metadata.packages_distributions()) | sys.stdlib_module_names
    found: Sources = {}
    size = 0
    for name, path in _own_files(installed | {"nses", "__main__"}):
        try:
            text = path.read_text()
        except (OSError, ValueError):
            continue
        found[name] = (text, str(path), path.name == "__init__.py")
        size += len(text)
        if len(found) > MOST_FILES or size > MOST_BYTES:
            return {}
    return found


def _own_files(others: set[str]) -> Iterator[tuple[str, Path]]:
    """The names of modules, and their files."""
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if name.partition(".")[0] in others or not file or not str(file).endswith(".py"):
            continue
        path = Path(file)
        if _is_installed(path):
            continue
        yield name, path
        if path.name == "__init__.py" and "." not in name:
            yield from _inside(name, path.parent)


def _inside(package: str, folder: Path) -> Iterator[tuple[str, Path]]:
    """Modules that a package may import later."""
    for i, path in enumerate(sorted(folder.rglob("*.py"))):
        if i > MOST_FILES:
            return
        parts = path.relative_to(folder).with_suffix("").parts
        parts = parts[:-1] if parts[-1] == "__init__" else parts
        if all(part.isidentifier() for part in parts):
            yield ".".join((package, *parts)), path


def _is_installed(path: Path) -> bool:
    places = [sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")]
    places += [*site.getsitepackages(), site.getusersitepackages()]
    return any(path.is_relative_to(place) for place in places if place)


class OwnCode(MetaPathFinder, InspectLoader):
    """Imports modules from their sources."""

    def __init__(self, sources: Sources):
        self.sources = sources

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name not in self.sources:
            return None
        _, origin, package = self.sources[name]
        spec = ModuleSpec(name, self, origin=origin, is_package=package)
        spec.has_location = True  # sets `__file__`, which exists if the machines share files
        return spec

    def get_source(self, fullname: str) -> str:
        return self.sources[fullname][0]

    def is_package(self, fullname: str) -> bool:
        return self.sources[fullname][2]


def install(sources: Sources) -> None:
    """Makes these modules importable here."""
    if sources:
        sys.meta_path.insert(0, OwnCode(sources))


def installed() -> Sources:
    """What was installed here, for the processes this one starts."""
    found: Sources = {}
    for finder in sys.meta_path:
        if isinstance(finder, OwnCode):
            found |= finder.sources
    return found


def unpacked(content: bytes) -> Any:
    """What cloudpickle packed elsewhere; ImportError says what must be importable here."""
    try:
        return pickle.loads(content)
    except (ImportError, AttributeError) as error:
        raise ImportError(
            "a worker must be able to import what the task and the policy are made of, but it "
            f"cannot: {error}. Workers look where this program does (sys.path): put the folder of "
            "that module on PYTHONPATH, or install it, on every machine that plays."
        ) from error
