"""Paths of users are relative, and an environment may change the working directory."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nses.experiment.runs.storage import StorageFailed


@contextmanager
def same_place() -> Iterator[None]:
    """The working directory is the same afterwards, whatever happened inside."""
    here = os.open(".", os.O_RDONLY | os.O_DIRECTORY)  # it may be renamed meanwhile
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
