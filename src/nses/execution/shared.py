"""Arrays in memory that processes share by descriptor: no name in /dev/shm, nothing to clean up."""

import math
import mmap
import os
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

Field = tuple[str, str, tuple[int, ...]]  # name, dtype, shape

ALIGNMENT = 64
LARGE = 1 << 22  # bytes


def anonymous_file(size: int, content: bytes = b"") -> int:
    """A descriptor of `size` bytes, content then zeros, which vanish with the last process."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("nses", os.MFD_CLOEXEC)
    else:
        with tempfile.TemporaryFile() as file:
            descriptor = os.dup(file.fileno())
    with open(os.dup(descriptor), "wb") as file:
        file.write(content)
    os.ftruncate(descriptor, size)
    return descriptor


def size_of(fields: Iterable[Field]) -> int:
    return sum(_span(field) for field in fields)


def map_arrays(descriptor: int, fields: Iterable[Field]) -> dict[str, NDArray[Any]]:
    """The arrays in a shared file, by name."""
    fields = list(fields)
    memory = mmap.mmap(descriptor, max(1, size_of(fields)))
    arrays, offset = {}, 0
    for name, dtype, shape in fields:
        count = math.prod(shape)
        arrays[name] = np.frombuffer(memory, dtype, count, offset).reshape(shape)
        offset += _span((name, dtype, shape))
    return arrays


def zeros(dtype: str, shape: tuple[int, ...]) -> NDArray[Any]:
    """Zeros of which few may be written: only the pages that are written cost time and memory.

    NumPy asks for huge pages for large arrays, and clearing one takes as long as merging many rows.
    """
    size = np.dtype(dtype).itemsize * math.prod(shape)
    if size < LARGE or not hasattr(mmap, "MADV_NOHUGEPAGE"):
        return np.zeros(shape, dtype)
    memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    with suppress(OSError):  # a kernel without huge pages
        memory.madvise(mmap.MADV_NOHUGEPAGE)
    return np.frombuffer(memory, dtype).reshape(shape)


def _span(field: Field) -> int:
    """Bytes of an array, rounded up so that the next one starts on a cache line."""
    _, dtype, shape = field
    size = np.dtype(dtype).itemsize * math.prod(shape)
    return -(-size // ALIGNMENT) * ALIGNMENT
