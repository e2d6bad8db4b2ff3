"""config.json: how a run was started and resumed, read once into a value."""

import json
import os
import shlex
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from nses.errors import UsageError
from nses.execution.versions import current_versions
from nses.experiment.runs import encoding
from nses.experiment.runs.storage import (
    CheckpointRefused,
    contained,
    regular_file,
    slug,
    write_atomically,
)
from nses.experiment.settings.config import Config, from_dict, to_dict
from nses.rollouts.sources import PARTS
from nses.rollouts.spaces import describe, space_from
from nses.rollouts.tasks.catalog import default_behavior
from nses.rollouts.tasks.scene import Scene, plain, scene_from
from nses.rollouts.tasks.task import Facts

CONFIG = "config.json"
FORMAT = 1
LARGEST_CONFIG = 64 << 20  # bytes
LARGEST_BEHAVIOR = 1 << 24  # numbers
DEEPEST = 50  # nested tables in a configuration
MOST_VERSIONS = 100
MOST_STARTS = 10**6
LARGEST_SEED = 2**31 - 1
LONGEST_TEXT = 2000  # characters of a command line or a version that are shown


@dataclass(frozen=True)
class Resumption:
    """The generation from which a run was resumed, and the command, as the file has them."""

    generation: str
    command: str


@dataclass(frozen=True)
class Halt:
    """After which generation a listener stopped a run, and why."""

    generation: int
    why: str

    def after(self, generation: int) -> str:
        """Why the run was stopped if that was after this generation; empty if it has gone on."""
        return self.why if generation == self.generation else ""


NO_HALT = Halt(-1, "")


@dataclass(frozen=True)
class Document:
    config: Config
    facts: Facts
    versions: dict[str, str]  # at the start of the run
    command: str  # that started the run
    own_task: bool  # whether the task was passed as an object, not by name
    own_policy: str  # the class of the policy if it was passed as an object, else empty
    resumptions: tuple[Resumption, ...]
    starts: tuple[int, ...]  # seeds of all starts of an episode, where evaluations play each
    task_from: str  # module:attribute of the task that was passed, if it can be imported
    halt: Halt


def read_document(path: Path) -> Document:
    """The config.json of a run; long texts are shortened, since anybody may have written them."""
    document = _read(path)
    try:
        config = from_dict(document["config"])
        spaces = document["spaces"]
        size = encoding.count(spaces["behavior"], LARGEST_BEHAVIOR)
        sources = dict(document.get("sources", {}))
        facts = Facts(
            space_from(spaces["observation"]),
            space_from(spaces["action"]),
            size,
            {part: _shortened(sources[part]) for part in PARTS if part in sources},
            *_drawn(document, config),
        )
        versions = _versions(document)
        starts = _starts(document)
    except Exception as error:  # of any kind: Gymnasium's spaces use assert
        words = str(error) or type(error).__name__
        raise CheckpointRefused(
            f"{path / CONFIG} is not the configuration of a run: {_shortened(words)}"
        ) from error
    own = document.get("own_task", False)
    return Document(
        config,
        facts,
        versions,
        _shortened(document.get("command", "unknown")),
        bool(own),
        _shortened(document.get("own_policy", "")),
        tuple(_resumption(r) for r in document.get("resumed", []) if isinstance(r, dict)),
        starts,
        _shortened(own) if isinstance(own, str) else "",
        _halt(document.get("halted")),
    )


def _versions(document: dict[str, Any]) -> dict[str, str]:
    versions = dict(document.get("versions", {}))
    if len(versions) > MOST_VERSIONS:
        raise ValueError(f"it names {len(versions):,} versions.")
    return {_shortened(name): _shortened(v) for name, v in versions.items()}


def _drawn(document: dict[str, Any], config: Config) -> tuple[str, tuple[str, ...], Scene]:
    """How to draw its behaviors: their name, the labels of their numbers, and the scene."""
    drawn = dict(document.get("drawn", {}))
    own = document.get("own_task", False)
    usual = config.behavior or ("" if own else default_behavior(config.task))  # of an older run
    labels = tuple(_shortened(label) for label in list(drawn.get("labels", [])))
    scene = scene_from(drawn.get("scene", {}))
    return _shortened(drawn.get("behavior") or usual), labels, scene


def _starts(document: dict[str, Any]) -> tuple[int, ...]:
    """None in a run that is older than them: its evaluations draw their starts."""
    starts = list(document.get("starts", []))
    if len(starts) > MOST_STARTS:
        raise ValueError(f"it names {len(starts):,} starts.")
    return tuple(encoding.count(seed, LARGEST_SEED) for seed in starts)


def _resumption(said: dict[str, Any]) -> Resumption:
    return Resumption(_shortened(said.get("generation")), _shortened(said.get("command")))


def _halt(said: Any) -> Halt:
    match said:
        case {"generation": int(generation), "why": str(why)}:
            return Halt(generation, _shortened(why))
    return NO_HALT


def _read(path: Path) -> dict[str, Any]:
    file = path / CONFIG
    if not os.path.lexists(file):
        raise UsageError(
            f"{path} is not a run: it has no {CONFIG}. 'nses train' makes runs "
            "in runs/TASK/ALGORITHM/seed-SEED."
        )
    try:
        with regular_file(file, LARGEST_CONFIG) as (opened, size):
            document = encoding.table(opened.read(size))
        _refuse_deep(document)
    except CheckpointRefused as error:
        raise CheckpointRefused(f"{file} is damaged: {error}") from None
    if not isinstance(document.get("format", 0), int):
        raise CheckpointRefused(f"{file} is damaged: its format is not a number.")
    if not isinstance(document.get("resumed", []), list):
        raise CheckpointRefused(f"{file} is damaged: its entry 'resumed' is not a list.")
    if document.get("format", 0) > FORMAT:
        raise CheckpointRefused(
            f"{file} was written in format {document['format']}; "
            f"this nses reads up to {FORMAT}: install a newer one."
        )
    return document


def _refuse_deep(document: dict[str, Any]) -> None:
    """Showing tables nested far deeper than ours would raise a RecursionError."""
    level: list[Any] = [document]
    for _ in range(DEEPEST):
        inside = (x.values() if isinstance(x, dict) else x for x in level)
        level = [y for x in inside for y in x if isinstance(y, dict | list)]
    if level:
        raise CheckpointRefused(f"its tables are nested more than {DEEPEST} deep")


def _shortened(value: object) -> str:
    text = str(value)
    return text if len(text) <= LONGEST_TEXT else text[:LONGEST_TEXT] + " …"


def write_config(
    path: Path,
    config: Config,
    facts: Facts,
    own_task: bool | str,  # where it can be imported from, if it can
    own_policy: str = "",
    starts: tuple[int, ...] = (),
) -> None:
    """Write the settings of a new run, and everything its results depend on."""
    document = {
        "format": FORMAT,
        "config": _stored(config),
        "own_task": own_task,
        "own_policy": own_policy,
        "spaces": spaces_of(facts),
        "drawn": {
            "behavior": facts.behavior,
            "labels": list(facts.labels),
            "scene": plain(facts.scene),
        },
        "versions": versions_now(),
        "starts": list(starts),
        "sources": facts.sources,
        "command": _command(),
        "resumed": [],
    }
    _write(path, document)


def _command() -> str:
    """The command line, to type again: as `nses`, however that was started.

    Python at work without a file has none; a notebook's would be that of its kernel.
    """
    program, *others = sys.argv or [""]
    if Path(program).name == "ipykernel_launcher.py":
        return "a notebook"
    if program in ("", "-", "-c"):
        return "an interactive Python"
    ours = Path(program).name == "nses" or Path(program).parts[-2:] == ("nses", "__main__.py")
    return shlex.join(["nses" if ours else program, *others])


def note_resumption(path: Path, config: Config, generation: int) -> None:
    """Record the changed settings, and the versions with which the run continues."""
    document = _read(path)
    document["config"] = _stored(config)
    versions, command = versions_now(), _command()
    document.setdefault("resumed", []).append(
        {"generation": generation, "versions": versions, "command": command}
    )
    _write(path, document)


def note_halt(path: Path, generation: int, why: str) -> None:
    """Record why a listener stopped the run after this generation."""
    _write(path, _read(path) | {"halted": {"generation": generation, "why": why}})


def versions_now() -> dict[str, str]:
    """What the bits depend on here: torch as well, if a policy has imported it."""
    torch = getattr(sys.modules.get("torch"), "__version__", None)
    return current_versions() | ({} if torch is None else {"torch": str(torch)})


def spaces_of(facts: Facts) -> dict[str, Any]:
    return {
        "observation": describe(facts.observation_space),
        "action": describe(facts.action_space),
        "behavior": facts.behavior_size,
    }


def other_spaces(a: Facts, here: str, b: Facts, there: str) -> list[str]:
    """The spaces in which two tasks differ, a line each."""
    ours, theirs = spaces_of(a), spaces_of(b)
    return [
        f"{name} space: {ours[name]} {here}, {theirs[name]} {there}"
        for name in ours
        if ours[name] != theirs[name]
    ]


def _stored(config: Config) -> dict[str, Any]:
    """The settings to store: without the directory, since a run can be moved."""
    return to_dict(replace(config, run_dir=None))


def _write(path: Path, document: dict[str, Any]) -> None:
    write_atomically(path / CONFIG, (json.dumps(document, indent=1) + "\n").encode())


def directory_of(config: Config) -> Path:
    """Where the run of a configuration is kept."""
    if config.run_dir is not None:
        if not config.run_dir or "\0" in config.run_dir:
            raise UsageError(f"run_dir must be the path of a directory, got {config.run_dir!r}.")
        return Path(config.run_dir)
    name = f"{slug(config.task)}/{config.algorithm}/seed-{config.seed}"
    contained("runs", name)  # refuses a link that leads out of it
    return Path("runs") / name
