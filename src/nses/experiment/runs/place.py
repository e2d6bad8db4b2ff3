"""The working directory: users' paths are relative to it, and an environment may change it."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nses.experiment.runs.storage import StorageFailed


@contextmanager
def same_place() -> Iterator[None]:
    """Restore the working directory afterwards, whatever happens inside."""
    here = os.open(".", os.O_RDONLY | os.O_DIRECTORY)  # not by name: it may be renamed meanwhile
    try:
        yield
    finally:
        os.fchdir(here)
        os.close(here)


def absolute(path: Path) -> Path:
    """A path that means the same from everywhere; links stay links."""
    try:
        return Path(os.path.abspath(path))
    except FileNotFoundError as error:
        raise StorageFailed(f"the working directory, where {path} would be, is gone.") from error
