"""What the fuzzer does with a damaged run, and what must not happen."""

import hashlib
import json
import logging
import math
import os
import re
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import nses
from benchmarks.fuzzing.damage import Damage
from benchmarks.fuzzing.snapshots import generations_in, snapshot
from nses.cli import main as command_line
from nses.errors import NsesError
from nses.experiment.analysis.comparison import compare
from nses.experiment.analysis.live import Watcher
from nses.experiment.analysis.stories import story_of
from nses.experiment.runs import checkpoint
from nses.experiment.runs.run import Run
from nses.experiment.showing.info import facts_of

SOURCE = str(Path(nses.__file__).parent)
DOCUMENTED = (NsesError, FileNotFoundError)
EXIT_CODES = {0, 2, 3, 4, 5, 130, 143}
POLICIES = ("best", "final", "member:0", "member:1", "generation:3", "generation:2:candidate:1")
MOST_NUMBERS = 10**6  # of an observation that is tried


@dataclass(frozen=True)
class Finding:
    kind: str
    where: str  # the same for the same cause
    detail: str = ""


@dataclass(frozen=True)
class Expected:
    """The right answers of an undamaged run: its policies, states and returns."""

    policies: dict[str, str]
    states: dict[int, str]  # generation → digest without metrics
    returns: dict[str, float]  # policy → return of the first fresh episode


@dataclass
class Trial:
    """A damaged run, and all findings about it."""

    home: Path
    damages: Sequence[Damage]
    expected: Expected
    output: Callable[[], str]  # what was printed since the last call
    findings: list[Finding] = field(default_factory=list)

    @property
    def accident(self) -> bool:
        """Whether nobody did the damage on purpose, so that no wrong answer is excused."""
        return all(d.accident for d in self.damages)

    def touches(self, name: str) -> bool:
        return any(name in d.path for d in self.damages)


def policy_bits(theta: Any, moments: Any) -> str:
    arrays = (theta, np.float64(moments.count), moments.sum, moments.square)
    return hashlib.sha256(b"".join(np.asarray(a).tobytes() for a in arrays)).hexdigest()


def state_bits(run: Run) -> str:
    return checkpoint.digest(run.state, [])


READERS: dict[str, Callable[[Run], object]] = {
    "metrics": lambda run: run.metrics,
    "state": lambda run: run.state,
    "best": lambda run: run.best,
    "ending": lambda run: run.ending,
    "retest": lambda run: run.retest,
    "archive": lambda run: run.archive,
    "reference": lambda run: run.reference,
    "finished": lambda run: run.finished,
    "digest": lambda run: run.digest,
    "info": lambda run: json.dumps(facts_of(run)),
    "story": lambda run: _story(run),
    "compare": lambda run: compare([run]),
    "watch": lambda run: Watcher([run.path]).look(),
    "archive file": lambda run: checkpoint.load_archive(run.path / "archive.safetensors"),
}


def _story(run: Run) -> None:
    story = story_of(run)
    _ = story.best, story.tested, story.behaviors, story.column("hours"), story.generation


def read(trial: Trial, rng: Random) -> None:
    """Look at a run with everything that Python offers; none of it may change a file."""
    before = snapshot(trial.home)
    run = _tried(trial, "load", lambda: nses.load(trial.home))
    if run is not None:
        for name, reader in READERS.items():
            _tried(trial, name, lambda reader=reader: reader(run))
        for which in POLICIES:
            _check_policy(trial, replace(run), which)  # a copy, which has not warned yet
    else:
        _tried(trial, "watch", lambda: Watcher([trial.home]).look())
    _unchanged(trial, "reading", before, snapshot(trial.home))


def _tried(trial: Trial, name: str, call: Callable[[], Any]) -> Any:
    """The result of a call; None after an error, which is a finding unless it is documented."""
    try:
        return call()
    except Exception as error:
        if not isinstance(error, DOCUMENTED):
            trial.findings.append(of_error("exception", name, error))
        return None


def of_error(kind: str, name: str, error: BaseException) -> Finding:
    text = "".join(traceback.format_exception(error))
    return Finding(kind, signature(error), f"in {name}\n{text}")


def signature(error: BaseException) -> str:
    """The same for the same bug: the type of the error, and our last function in its traceback."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename.startswith(SOURCE)]
    place = ""
    if frames:
        place = f" at {os.path.relpath(frames[-1].filename, SOURCE)}:{frames[-1].name}"
    return type(error).__name__ + place


class _Said(logging.Handler):
    """Collects warnings."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


def _check_policy(trial: Trial, run: Run, which: str) -> None:
    said = _Said()
    logging.getLogger("nses").addHandler(said)
    try:
        policy = _tried(trial, f"policy {which}", lambda: run.policy(which))
    finally:
        logging.getLogger("nses").removeHandler(said)
    if policy is None:
        return
    bits = policy_bits(policy.theta, policy.moments)
    if bits != trial.expected.policies.get(which, bits) and not said.lines and trial.accident:
        trial.findings.append(Finding("wrong policy", f"policy {which} is another one, silently"))
    space: Any = run.facts.observation_space
    if math.prod(space.shape or ()) <= MOST_NUMBERS:
        observation = np.zeros(space.shape, space.dtype)
        _tried(trial, f"action of {which}", lambda: policy(observation))


def command(trial: Trial, rng: Random, scratch: Path) -> list[str]:
    """A random command about the run; if its settings may be damaged, one that only looks."""
    run = str(trial.home)
    policy = rng.choice(POLICIES)
    generation = str(rng.randint(0, 7))
    looks = [
        ["info", run], ["info", run, "--json"], ["info", run, "--json"],
        ["compare", run, "--output", str(scratch / "out")],
    ]  # fmt: skip
    plays = [
        ["evaluate", run, "--policy", policy, "--episodes", "1", "--json"],
        ["replay", run, "--generation", generation, "--json"],
        ["replay", run, "--generation", generation, "--candidate", str(rng.randint(0, 3))],
        ["export", run, "--policy", policy, "--output", str(scratch / "out")],
        ["resume", run, "--backend", "serial"],
        ["resume", run, "--backend", "serial", "--generations", "6"],
        ["resume", run, "--backend", "serial", "--generations", "7"],
    ]
    if trial.touches("config.json") or not trial.accident:
        return rng.choices(looks, (3, 3, 3, 1))[0]
    return rng.choices(looks + plays, (6, 6, 6, 1, 6, 4, 4, 1, 4, 4, 4))[0]


def run_command(trial: Trial, words: list[str]) -> None:
    """Run a command and check its exit code, its output, and what it did to the files."""
    before = snapshot(trial.home)
    generations = generations_in(trial.home)
    code = exit_code(words)
    text = trial.output()
    trial.findings += judged(words, code, text)
    if any(c in text for c in "\x1b\x9b\x07\x08"):
        trial.findings.append(Finding("escape", f"{words[0]} prints control characters", text))
    after = snapshot(trial.home)
    if words[0] != "resume":
        _unchanged(trial, words[0], before, after, may_add=words[0] == "compare")
    elif code in (2, 3):  # refused; with other codes, training may have continued for a while
        kept = {name: x for name, x in before.items() if Path(name).name != ".lock"}
        _unchanged(trial, f"refused {words[0]}", kept, after, may_add=True)
    elif code == 0:
        _check_resumed(trial, generations)
    if "--json" in words and code == 0:
        _check_json(trial, words, text)


def exit_code(words: list[str]) -> int:
    """The exit code of a command, run in this process."""
    try:
        code = command_line(words)
    except SystemExit as end:
        code = end.code
    return code if isinstance(code, int) else 0 if code is None else 1


def judged(words: list[str], code: int, text: str) -> list[Finding]:
    """What is wrong with the exit code and the output of a command."""
    of_a_task = code in (2, 5) and words[:1] in (["train"], ["check"], ["estimate"], ["resume"])
    if "a bug in nses" in text or ("Traceback (most recent" in text and not of_a_task):
        lines = [line for line in text.splitlines() if line.strip()]
        frames = [line.split("/nses/")[-1] for line in lines if f'File "{SOURCE}' in line]
        where = f"{_last_error(lines)} at {frames[-1] if frames else '?'}"
        return [Finding("traceback", f"{words[0] if words else ''}: {where}", text)]
    allowed = EXIT_CODES | ({1} if words[:1] in (["replay"], ["doctor"]) else set())
    if code not in allowed:
        return [Finding("exit code", f"{words[0] if words else ''}: {code}", text)]
    if code and not text.strip():
        return [Finding("silent", f"{words[0] if words else ''}: exit {code} without a word")]
    return []


def _last_error(lines: list[str]) -> str:
    errors = [line for line in lines if line[:1].isalpha() and ("Error" in line or ":" in line)]
    named = [line for line in errors if not line.startswith("nses:")]
    return re.sub(r"'[^']*'", "…", (named or lines)[-1])[:100]  # without the path, which is random


def _check_json(trial: Trial, words: list[str], text: str) -> None:
    line = next((line for line in text.splitlines() if line.startswith("{")), "")
    try:
        answer = json.loads(line, parse_constant=_refuse)
    except ValueError as error:
        trial.findings.append(Finding("json", f"{words[0]} --json: {error}"[:150], text))
        return
    if words[0] != "evaluate" or "used instead" in text or len(text.splitlines()) > 1:
        return
    right = trial.expected.returns.get(words[3])
    if answer.get("mean") != right:
        what = f"evaluate {words[3]} is another policy, silently"
        trial.findings.append(Finding("wrong policy", what, f"{answer.get('mean')} not {right}"))


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _check_resumed(trial: Trial, generations: dict[str, set[int]]) -> None:
    """Check that a resumed run is the same run, and has lost no line."""
    run = _tried(trial, "load after resume", lambda: nses.load(trial.home))
    if run is None:
        trial.findings.append(Finding("resume", "a resumed run cannot be loaded"))
        return
    done = run.state.generation
    if state_bits(run) != trial.expected.states.get(done):
        trial.findings.append(Finding("resume", "resumed to another state", f"generation {done}"))
    after = generations_in(trial.home)
    for name, numbers in generations.items():
        lost = {g for g in numbers if g <= done} - after[name]
        if lost:
            what = f"{name} lost lines in resume"
            trial.findings.append(Finding("resume", what, f"generations {sorted(lost)}"))


def _unchanged(
    trial: Trial, what: str, before: dict[str, Any], after: dict[str, Any], may_add: bool = False
) -> None:
    changed = sorted(name for name in before if after.get(name) != before[name])
    added = sorted(set(after) - set(before)) if not may_add else []
    if changed or added:
        names = sorted({Path(name).name for name in changed + added})
        trial.findings.append(
            Finding("changed", f"{what} changed {', '.join(names)}", f"{changed} {added}")
        )
