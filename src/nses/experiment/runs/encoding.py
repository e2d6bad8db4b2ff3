"""Values to and from tensors and standard JSON; anything else is refused before it is decoded.

The annotations of a value are its schema: a float is a number, an int a count, an NDArray a tensor.
An archive of vectors is one tensor, an archive of traces is one tensor per trace.
"""

import hashlib
import json
import math
import os
import reprlib
from collections.abc import Iterable
from dataclasses import is_dataclass
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO, NoReturn, TypeVar, get_args, get_origin, get_type_hints

import numpy as np
import safetensors.numpy
from numpy.typing import NDArray
from safetensors import SafetensorError

from nses.core.archive import Archive, Buffer, Characterization, Traces
from nses.core.traces import Trace, as_traces
from nses.core.values import Best, Floats, State
from nses.experiment.runs.storage import CheckpointRefused, regular_file

LARGEST_JSON = 8 << 20  # bytes of a JSON file or of the header of a tensor file: for 10^4 members
LARGEST_COUNT = 1 << 62
LARGEST_EXTENT = 1 << 31  # of a tensor, in one dimension
ITEM_SIZES = {"F32": 4, "F64": 8, "U8": 1}  # bytes per number, of the types that we store

Tensors = dict[str, NDArray[Any]]
Table = dict[str, Any]
Stored = TypeVar("Stored", State, Best, Archive)


def read_file(path: Path, entry: Any = None) -> bytes:
    """The bytes of a JSON file; with an entry of a manifest, their size and hash are checked."""
    with regular_file(path) as (file, size):
        if size > LARGEST_JSON:
            raise CheckpointRefused(f"{path.name} has {size} bytes, more than nses ever writes")
        return _vouched(path, file, size, entry)


def read_tensors(path: Path, entry: Any = None) -> tuple[Tensors, Table]:
    """The tensors and the metadata of a file, allocated only after its sizes are checked."""
    with regular_file(path) as (file, size):
        metadata = _check_header(path, file, size)
        file.seek(0)
        data = _vouched(path, file, size, entry)
    try:
        return safetensors.numpy.load(data), metadata
    except SafetensorError as error:
        raise CheckpointRefused(f"{path.name} is damaged: {error}") from error


def _vouched(path: Path, file: BinaryIO, size: int, entry: Any) -> bytes:
    if entry is None:
        return file.read(size)
    expected, seal = fields(entry, "size", "sha256")
    if size != expected:
        raise CheckpointRefused(f"{path.name} has {size} bytes instead of {shown(expected)}")
    data = file.read(size)
    if sha256(data) != seal:
        raise CheckpointRefused(f"{path.name} is damaged: SHA-256 differs")
    return data


def _check_header(path: Path, file: BinaryIO, size: int) -> Table:
    """The metadata of a safetensors file, whose size must be that of its tensors."""
    length = int.from_bytes(file.read(8), "little")
    if size < 8 or length > min(size - 8, LARGEST_JSON):
        raise CheckpointRefused(f"{path.name} has {size} bytes but a header of {length}")
    if size > machine_memory():
        raise CheckpointRefused(f"{path.name} has {size} bytes, more than this machine's memory")
    header = table(file.read(length))
    metadata = mapping(header.pop("__metadata__", {}))
    filled = 0
    for entry in header.values():
        dtype, shape, offsets = fields(entry, "dtype", "shape", "data_offsets")
        extents = [count(x, LARGEST_EXTENT) for x in listed(shape)[:3]]
        begin, end = [count(x) for x in listed(offsets, 2)]
        expected = math.prod(extents) * ITEM_SIZES.get(str(dtype), -1)
        if len(extents) > 2 or end - begin != expected:
            raise CheckpointRefused(f"{path.name} has an invalid tensor: {shown(entry)}")
        filled += expected
    if 8 + length + filled != size:
        raise CheckpointRefused(f"{path.name} has {size} bytes, but its tensors do not fill them")
    return metadata


def machine_memory() -> int:
    """In bytes."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def take_apart(kind: type[Stored], value: Stored, at: tuple[str, ...] = ()) -> tuple[Any, Tensors]:
    """A value as standard JSON and tensors; JSON has the shape of a tensor in its place."""
    tensors: Tensors = {}
    return _apart(kind, value, at, tensors), tensors


def _apart(kind: Any, value: Any, at: tuple[str, ...], tensors: Tensors) -> Any:
    if kind == int | None:
        return None if value is None else int(value)
    if kind is int:
        return int(value)
    if kind is float:
        return float(value) if math.isfinite(value) else str(float(value))
    if kind is Archive:
        if value.traces:
            return _apart(tuple[Trace, ...], value.traces, at, tensors)
        value = value.rows
    elif is_dataclass(kind):
        hints = _hints(kind)
        return {x: _apart(hints[x], getattr(value, x), (*at, x), tensors) for x in hints}
    elif get_origin(kind) is tuple:
        item = get_args(kind)[0]
        return [_apart(item, x, (*at, str(i)), tensors) for i, x in enumerate(value)]
    tensors[".".join(at)] = np.ascontiguousarray(value)
    return list(value.shape)


def put_together(
    kind: type[Stored], scalars: Any, tensors: Tensors, at: tuple[str, ...] = ()
) -> Stored:
    """The value that was taken apart; nothing may be missing, of another type, or left over."""
    left = dict(tensors)
    value = _together(kind, scalars, at, left)
    if left:
        raise CheckpointRefused(f"it has unknown tensors: {shown(sorted(left))}")
    return value


def _together(kind: Any, part: Any, at: tuple[str, ...], tensors: Tensors) -> Any:
    if kind == int | None:
        return None if part is None else count(part)
    if kind is int:
        return count(part)
    if kind is float:
        return real(part)
    if kind is Archive:
        return _archive(part, at, tensors)
    if is_dataclass(kind):
        hints = _hints(kind)
        parts = zip(hints, fields(part, *hints), strict=True)
        make: Any = kind
        return make(**{x: _together(hints[x], part, (*at, x), tensors) for x, part in parts})
    if get_origin(kind) is tuple:
        item = get_args(kind)[0]
        return tuple(_together(item, x, (*at, str(i)), tensors) for i, x in enumerate(listed(part)))
    if kind == Characterization:
        kind = Trace if len(listed(part)) == 2 else Floats
    if kind == Trace:
        return _traces([_taken(tensors, at, np.uint8, listed(part, 2))])[0]
    (dtype,) = get_args(get_args(kind)[1])  # of NDArray[dtype]
    return _taken(tensors, at, dtype, listed(part, 1))


def _archive(part: Any, at: tuple[str, ...], tensors: Tensors) -> Archive:
    if any(isinstance(shape, list) for shape in listed(part)):
        traces = _traces(_together(tuple[Trace, ...], part, at, tensors))
        return Archive(Traces(traces), len(traces))
    rows = _taken(tensors, at, np.float64, listed(part, 2))
    return Archive(Buffer(rows), len(rows))


def _traces(tensors: Iterable[NDArray[Any]]) -> list[Trace]:
    """Traces, checked so that compiled code can rely on them."""
    try:
        return as_traces(tensors)
    except ValueError as error:
        raise CheckpointRefused(str(error)) from error


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def _taken(
    tensors: Tensors, at: tuple[str, ...], dtype: type[np.generic], shape: list[Any]
) -> NDArray[Any]:
    name = ".".join(at)
    array = tensors.pop(name, None)
    if array is None or array.dtype != dtype or list(array.shape) != shape:
        found = "missing" if array is None else f"{array.dtype} {list(array.shape)}"
        raise CheckpointRefused(
            f"tensor {name} should be {np.dtype(dtype)} {shown(shape)} but is {found}"
        )
    return array


def fields(table: Any, *names: str) -> list[Any]:
    """The values of these names; CheckpointRefused if one is missing or there are others."""
    if set(mapping(table)) != set(names):
        raise CheckpointRefused(f"expected {', '.join(names) or 'nothing'}, got {shown(table)}")
    return [table[name] for name in names]


def mapping(value: Any) -> Table:
    if not isinstance(value, dict):
        raise CheckpointRefused(f"expected a table, got {shown(value)}")
    return value


def listed(value: Any, length: int | None = None) -> list[Any]:
    if not isinstance(value, list) or length not in (None, len(value)):
        raise CheckpointRefused(f"expected a list, got {shown(value)}")
    return value


def count(value: Any, largest: int = LARGEST_COUNT) -> int:
    if type(value) is not int or not 0 <= value <= largest:
        raise CheckpointRefused(f"expected a count, got {shown(value)}")
    return value


def real(value: Any) -> float:
    if type(value) is not float and value not in ("inf", "-inf", "nan"):
        raise CheckpointRefused(f"expected a number, got {shown(value)}")
    return float(value)


def text(value: Any) -> str:
    if not isinstance(value, str):
        raise CheckpointRefused(f"expected text, got {shown(value)}")
    return value


def shown(value: Any) -> str:
    return reprlib.repr(value)  # a hostile value may be long


def table(data: bytes) -> Table:
    """The table at the top of a standard JSON text."""
    try:
        return mapping(json.loads(data.decode(), parse_constant=_refuse_constant))
    except (ValueError, RecursionError) as error:
        raise CheckpointRefused(f"it is not JSON: {shown(str(error))}") from error


def _refuse_constant(name: str) -> NoReturn:
    raise CheckpointRefused(f"it is not JSON: {name} is not a JSON number")


def finite(value: Any) -> Any:
    """None for a number that JSON lacks: infinity, or the NaN of a failed episode."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def standard(value: Any) -> Any:
    """`finite` for all numbers in tables and lists."""
    if isinstance(value, dict):
        return {name: standard(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [standard(item) for item in value]
    return finite(value)


def to_json(value: Any) -> bytes:
    return (json.dumps(value, indent=1, allow_nan=False) + "\n").encode()


def canonical(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def tensors_sha256(tensors: Tensors) -> str:
    """Over names, types, shapes and bits."""
    total = hashlib.sha256()
    for name, array in sorted(tensors.items()):
        total.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        total.update(array.reshape(-1).view(np.uint8).data)
    return total.hexdigest()
