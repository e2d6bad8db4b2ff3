"""Whether a disturbed run equals the undisturbed one, and what it left behind."""

import hashlib
import json
import os
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nses
from nses.experiment.runs import checkpoint


@dataclass(frozen=True)
class Evidence:
    """Everything that a run promises to repeat."""

    state: str
    retest: list[float]
    archive: str
    logs: dict[str, dict[int, str]]  # file → generation → its line without timings
    gaps: frozenset[int]  # generations that the logs mark as lost


def evidence(home: Path, without: Collection[str] = ()) -> Evidence:
    """Of the run in this directory, without these fields of its logs."""
    run = nses.load(home)
    logs, gaps = {}, set()
    for name in ("metrics.jsonl", "history.jsonl"):
        records = [json.loads(line) for line in (home / name).read_text().splitlines()]
        logs[name] = {r["generation"]: _lasting(r, without) for r in records if "generation" in r}
        gaps |= {g for r in records if "gap" in r for g in range(r["gap"][0], r["gap"][1] + 1)}
    archive = checkpoint.load_archive(home / "archive.safetensors")
    state = checkpoint.digest(run.state, [])
    behaviors = archive.traces or [archive.rows]
    content = hashlib.sha256(b"".join(b.tobytes() for b in behaviors)).hexdigest()
    return Evidence(state, run.retest, content, logs, frozenset(gaps))


def _lasting(record: dict[str, Any], without: Collection[str]) -> str:
    left_out = {*checkpoint.VOLATILE, *without}
    return json.dumps({k: v for k, v in record.items() if k not in left_out})


def differences(found: Evidence, right: Evidence) -> list[str]:
    """How a disturbed run differs from the undisturbed one; lines may be missing in gaps."""
    different = [
        name
        for name in ("state", "retest", "archive")
        if getattr(found, name) != getattr(right, name)
    ]
    for name, lines in right.logs.items():
        ours = found.logs[name]
        wrong = [g for g, line in lines.items() if ours.get(g, line) != line]
        missing = [g for g in lines if g not in ours and g not in found.gaps]
        extra = [g for g in ours if g not in lines]
        different += [f"{name}: {g} differs in {_where(ours[g], lines[g])}" for g in wrong[:3]]
        different += [f"{name}: {g} is missing" for g in missing[:3]]
        different += [f"{name}: {g} is too many" for g in extra[:3]]
    return different


def _where(line: str, right: str) -> str:
    """The names of the fields in which two lines of a log differ."""
    ours, theirs = json.loads(line), json.loads(right)
    names = {**ours, **theirs}
    return " ".join(k for k in names if repr(ours.get(k)) != repr(theirs.get(k))) or "its form"


def shared_memory() -> set[str]:
    """Names in /dev/shm that no living process has open or mapped.

    Semaphores are not counted: a run makes none, so they belong to other programs.
    """
    names = set(os.listdir("/dev/shm")) if os.path.isdir("/dev/shm") else set()
    names = {name for name in names if not name.startswith("sem.")}
    used = set()
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            used |= {os.readlink(x) for x in (process / "fd").iterdir()}
            used |= {line.split()[-1] for line in (process / "maps").read_text().splitlines()}
    return {name for name in names if f"/dev/shm/{name}" not in used}
