"""Checkpoints: a State as safetensors and JSON, verified to the last bit before it is used."""

import hashlib
import os
import secrets
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import safetensors.numpy
from numpy.typing import NDArray

from nses.core.archive import Archive
from nses.core.traces import is_trace
from nses.core.values import Best, State
from nses.experiment.runs import trace_store
from nses.experiment.runs.encoding import (
    Stored,
    Table,
    Tensors,
    canonical,
    fields,
    mapping,
    put_together,
    read_file,
    read_tensors,
    sha256,
    shown,
    table,
    take_apart,
    tensors_sha256,
    text,
    to_json,
)
from nses.experiment.runs.formats import Content, NewerFormat, migrated, sealed, unsealed
from nses.experiment.runs.shelf import (
    COMMITTED,
    FILES,
    MANIFEST,
    SCALARS,
    TENSORS,
    discard,
    names,
    retire,
    stored,
    sweep,
)
from nses.experiment.runs.storage import (
    CheckpointRefused,
    StorageFailed,
    storing,
    sync_directory,
    write_atomically,
    write_synced,
)

DIRECTORY = "checkpoints"  # of a run
TRACES = "traces"  # beside the checkpoints, which share them
POINTER = "latest.json"

# Metrics that no digest covers.
VOLATILE = frozenset({"seconds", "steps_per_second", "restarts", "foreseen", "idle"})


@dataclass(frozen=True, eq=False)
class Loaded:
    """A State from disk; `notes` are sentences about newer checkpoints that were refused."""

    state: State
    config: Table
    path: Path
    notes: tuple[str, ...] = ()


def save(
    directory: Path,
    state: State,
    config: Mapping[str, Any],
    *,
    keep_last: int = 3,
    keep_every: int = 100,
) -> Path:
    """Commit a State as `directory`/<generation>, then remove what is no longer needed.

    A crash after any step leaves the old checkpoint, the new one or both. The new one is read back
    before it gets its name, and so before anything older is removed.
    """
    assert min(keep_last, keep_every) >= 1
    name, token = f"{state.generation:06d}", secrets.token_hex(4)
    target, written = directory / name, directory / f".writing-{name}-{token}"
    with storing(target):
        if not directory.is_dir():
            directory.mkdir()
            sync_directory(directory.parent)
        sweep(directory, "writing")
        scalars, tensors = take_apart(State, state)
        traces = {name: x for name, x in tensors.items() if is_trace(x)}
        entries = trace_store.keep(directory / TRACES, traces)
        own = {name: x for name, x in tensors.items() if name not in traces}
        try:
            written.mkdir()
            for file, data in _files(scalars, own, entries, config).items():
                write_synced(written / file, data)
            sync_directory(written)
            _read_back(written, state.generation, traces)
            if os.path.lexists(target):
                os.rename(target, directory / f".replaced-{name}-{token}")
            os.rename(written, target)
        except BaseException:
            with suppress(OSError):  # the first error is the one to report
                discard(written)
            raise
        sync_directory(directory)
        write_atomically(directory / POINTER, to_json({"checkpoint": name}))
        sweep(directory, "replaced")
        retire(directory, state.generation, keep_last, keep_every)
        _remove_unused(directory, trace_store.seals(entries))
    return target


def load(directory: Path, at_most: int | None = None) -> Loaded:
    """The newest valid checkpoint in a directory, by generation number, at most `at_most`."""
    notes: list[str] = []
    for generation, path in stored(directory):
        if at_most is not None and generation > at_most:
            continue
        try:
            state, config = _read(path, generation)
        except NewerFormat as error:
            raise NewerFormat(f"checkpoint {path} was refused: {error}") from error
        except (CheckpointRefused, StorageFailed) as error:
            notes.append(f"Checkpoint {path.name} was refused: {error}.")
            continue
        notes += _lost(directory, generation) if at_most is None else []
        if notes:
            notes.append(f"Checkpoint {path.name} is used instead.")
        return Loaded(state, config, path, tuple(notes))
    raise CheckpointRefused(
        " ".join([f"{directory} holds no valid checkpoint.", *notes])
        + " Restore one from a copy, or start again in another --run-dir."
    )


def save_best(path: Path, best: Best, extra: Mapping[str, str]) -> None:
    """Store the best policy in one file, with texts from the caller."""
    save_alone(path, "best", *take_apart(Best, best, ("best",)), dict(extra))


def load_best(path: Path) -> tuple[Best, dict[str, str]]:
    """The policy that `save_best` stored, and the caller's texts."""
    return load_alone(path, "best", Best)


def save_archive(path: Path, archive: Archive) -> None:
    """Store all behaviors of an archive in one file."""
    save_alone(path, "archive", *take_apart(Archive, archive, ("archive",)), {})


def load_archive(path: Path) -> Archive:
    """The archive that `save_archive` stored."""
    return load_alone(path, "archive", Archive)[0]


def digest(state: State, metrics: Iterable[Mapping[str, Any]]) -> str:
    """SHA-256 of what a run promises to repeat: the State, and all metrics that are not timings."""
    scalars, tensors = take_apart(State, state)
    del scalars["updated"]  # the metrics have it, and digests are older than this field
    total = hashlib.sha256(canonical([scalars, tensors_sha256(tensors)]))
    for line in metrics:
        total.update(b"\n" + canonical({k: v for k, v in line.items() if k not in VOLATILE}))
    return total.hexdigest()


def _files(
    scalars: Table, tensors: Tensors, traces: Table, config: Mapping[str, Any]
) -> dict[str, bytes]:
    """The files of a checkpoint; the manifest comes last, with the hashes of all that it needs."""
    files = {TENSORS: safetensors.numpy.save(tensors), SCALARS: to_json(scalars)}
    entries = {name: {"size": len(x), "sha256": sha256(x)} for name, x in files.items()}
    return files | {MANIFEST: sealed({"config": dict(config), "files": entries, "traces": traces})}


def _manifest(path: Path) -> tuple[Table, int]:
    """The manifest of a checkpoint, and the format it was written in."""
    if path.is_symlink() or not path.is_dir():
        raise CheckpointRefused("it is not a directory")
    document, written_in = unsealed(read_file(path / MANIFEST))
    return {"traces": {}} | document, written_in  # in format 1, traces are among the tensors


def _read(
    path: Path, generation: int, fetch: Callable[[Path, Any], Tensors] = trace_store.fetch
) -> tuple[State, Table]:
    """The State in a checkpoint; CheckpointRefused unless every byte is as it was written."""
    document, written_in = _manifest(path)
    found = set(names(path))
    if found != set(FILES):
        raise CheckpointRefused(
            f"expected the files {', '.join(FILES)}; "
            f"missing {sorted(set(FILES) - found)}, foreign {shown(sorted(found - set(FILES)))}"
        )
    config, entries, traces = fields(document, "config", "files", "traces")
    tensors_entry, scalars_entry = fields(entries, TENSORS, SCALARS)
    scalars = table(read_file(path / SCALARS, scalars_entry))
    tensors, _ = read_tensors(path / TENSORS, tensors_entry)
    if tensors.keys() & mapping(traces).keys():
        raise CheckpointRefused("it holds a trace twice")
    tensors |= fetch(path.parent / TRACES, traces)
    content = migrated(Content("state", tensors, scalars, mapping(config)), written_in)
    state = put_together(State, content.scalars, content.tensors)
    if state.generation != generation:
        raise CheckpointRefused(f"it holds generation {state.generation}")
    refuse_misfits(state)
    return state, content.config


def refuse_misfits(state: State) -> None:
    """CheckpointRefused if arrays that belong together have different shapes."""
    groups: list[tuple[NDArray[Any], ...]] = [(state.best.moments.sum, state.best.moments.square)]
    for member in state.members:
        groups.append((member.theta, member.optimizer.m, member.optimizer.v))
        groups.append((member.moments.sum, member.moments.square))
    if any(len({array.shape for array in group}) > 1 for group in groups):
        raise CheckpointRefused("the shapes of its tensors do not match")
    known = [state.best.behavior, *(x.behavior for x in state.members), *state.archive.traces]
    if len({b.shape[1:] for b in known}) > 1:  # the width of a trace; () for vectors
        raise CheckpointRefused("the shapes of its behaviors do not match")
    members, weights, updated = len(state.members), len(state.weights), state.updated
    if not members or weights not in (1, members):
        raise CheckpointRefused(f"it has {members} members but {weights} weights")
    if updated is not None and updated >= members:
        raise CheckpointRefused(f"it says that member {updated} was updated, but has {members}")


def _read_back(path: Path, generation: int, traces: Tensors) -> None:
    """StorageFailed unless a checkpoint can be read; its traces have been checked already."""
    try:
        _read(path, generation, lambda directory, entries: traces)
    except CheckpointRefused as error:
        raise StorageFailed(f"{path} does not read back as it was written: {error}.") from error


def _lost(directory: Path, generation: int) -> list[str]:
    """A note if the pointer names a checkpoint newer than any that exists, or may have done so."""
    pointer = directory / POINTER
    try:
        (name,) = fields(table(read_file(pointer)), "checkpoint")
    except CheckpointRefused:  # the pointer is only a hint: the checkpoints decide
        damaged = f"{POINTER} cannot be read, so a newer checkpoint may be missing."
        return [damaged] if os.path.lexists(pointer) else []
    match = COMMITTED.fullmatch(str(name))
    if match and int(match[1]) > generation and not os.path.lexists(directory / match[1]):
        return [f"Checkpoint {match[1]} was written but is missing."]
    return []


def _remove_unused(directory: Path, needed: set[str]) -> None:
    """Remove the traces that no checkpoint refers to; none if a manifest cannot be read.

    Usually the newest checkpoint needs all of them, and no other manifest is read.
    """
    unused = trace_store.stored(directory / TRACES) - needed
    try:
        for _, path in stored(directory) if unused else ():
            unused -= trace_store.seals(_manifest(path)[0]["traces"])
    except CheckpointRefused:
        return
    trace_store.remove(directory / TRACES, unused)


def save_alone(path: Path, kind: str, scalars: Any, tensors: Tensors, extra: Table) -> None:
    """Store one value in one file, with everything but tensors in the header."""
    seal = tensors_sha256(tensors)
    about = sealed({"kind": kind, "scalars": scalars, "tensors": seal, "extra": extra})
    write_atomically(path, safetensors.numpy.save(tensors, metadata={"nses": about.decode()}))


def load_alone(path: Path, kind: str, into: type[Stored]) -> tuple[Stored, dict[str, str]]:
    """The value that `save_alone` stored, and the caller's texts."""
    try:
        tensors, metadata = read_tensors(path)
        document, written_in = unsealed(text(*fields(metadata, "nses")).encode())
        its_kind, scalars, seal, extra = fields(document, "kind", "scalars", "tensors", "extra")
        if its_kind != kind or seal != tensors_sha256(tensors):
            raise CheckpointRefused(f"it does not hold the {kind} that was written")
        content = migrated(Content(kind, tensors, scalars, mapping(extra)), written_in)
        value = put_together(into, content.scalars, content.tensors, (kind,))
        return value, {name: text(x) for name, x in content.config.items()}
    except CheckpointRefused as error:
        raise type(error)(f"{path} was refused: {error}.") from error
