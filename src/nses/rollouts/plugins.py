"""Helpers for plug-ins: an attribute, a copy, a call, a name, numbers in a message."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import cloudpickle
import numpy as np

from nses.errors import UsageError

T = TypeVar("T")


def whole_number(owner: object, name: str) -> int:
    value = getattr(owner, name, None)
    if not isinstance(value, int | np.integer) or value < 1:
        raise UsageError(
            f"{name} of {type(owner).__name__} must be a whole number of at least 1, got {value!r}."
        )
    return int(value)


def copied(plugin: T, name: str) -> T:
    """A copy, made as for a worker."""
    try:
        return cloudpickle.loads(cloudpickle.dumps(plugin))
    except Exception as error:
        raise UsageError(
            f"cloudpickle must be able to send {name} to the workers, got "
            f"{type(error).__name__}: {error}; open files, locks and simulators where they "
            "are used, not before."
        ) from error


@contextmanager
def calling(what: str) -> Iterator[None]:
    """Turns an exception in a user's code into a UsageError that says where it came from."""
    try:
        yield
    except Exception as error:
        raise UsageError(f"{what} must work, got {type(error).__name__}: {error}") from error


def short(numbers: Any) -> str:
    return np.array2string(np.asarray(numbers), threshold=8, edgeitems=3, separator=", ")


def defined_name(brought: Any) -> str:
    """`module:attribute` of a class or function, if it can be imported by that name; else empty."""
    module, attribute = (getattr(brought, x, None) for x in ("__module__", "__qualname__"))
    if not isinstance(module, str) or not isinstance(attribute, str) or module == "__main__":
        return ""
    found: Any = sys.modules.get(module)
    for part in attribute.split("."):
        found = getattr(found, part, None)
    return f"{module}:{attribute}" if found is brought else ""
