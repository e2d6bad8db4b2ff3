"""The end of a run: its archive, then its best policy with the re-test, which marks the end."""

import json
import logging
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from nses.core.values import Best, Floats, State
from nses.experiment.runs import checkpoint
from nses.experiment.runs.formats import NewerFormat
from nses.experiment.runs.storage import CheckpointRefused

log = logging.getLogger("nses")

BEST = "best.safetensors"
ARCHIVE = "archive.safetensors"
MOST_VARIATIONS, LONGEST_NAME = 20, 80  # of a task that are shown
UNKNOWN = -1  # the generation of an ending whose file does not record it (older runs)


@dataclass(frozen=True, eq=False)
class Ending:
    """The best policy of a run after `generation` generations, and its returns in fresh episodes.

    A failed episode has no return.
    """

    best: Best
    returns: list[float]
    generation: int
    variations: dict[str, list[float]] = field(default_factory=dict)  # returns in these, by name

    def tests(self, best: Best) -> bool:
        """Whether the returns are of this policy: a run that continued may have a better one."""
        return (self.best.generation, self.best.member) == (best.generation, best.member)


def read_ending(directory: Path) -> Ending | None:
    """The last ending of a run, None if it has not ended; CheckpointRefused if damaged."""
    file = directory / BEST
    if not os.path.lexists(file):
        return None
    best, extra = checkpoint.load_best(file)
    try:
        returns = [float(x) for x in json.loads(extra["retest"])]
        variations = _variations(json.loads(extra.get("variations", "{}")))
        generation = max(UNKNOWN, int(extra.get("generation", UNKNOWN)))
    except (KeyError, TypeError, ValueError, OverflowError, RecursionError) as error:
        raise CheckpointRefused(f"{file} was refused: it has no re-test ({error}).") from error
    return Ending(best, _played(returns), generation, variations)


def _variations(said: dict[str, list[float]]) -> dict[str, list[float]]:
    if len(said) > MOST_VARIATIONS:
        raise OverflowError(f"{len(said):,} variations")
    return {name[:LONGEST_NAME]: _played([float(x) for x in said[name]]) for name in said}


def _played(returns: list[float]) -> list[float]:
    """Those of episodes that did not fail."""
    return [x for x in returns if math.isfinite(x)]


def write_ending(
    directory: Path, state: State, tested: Floats, varied: Mapping[str, Floats]
) -> None:
    """Write the archive and the best policy, in this order: the policy marks the run as ended."""
    checkpoint.save_archive(directory / ARCHIVE, state.archive)
    extra = {"retest": json.dumps(tested.tolist()), "generation": str(state.generation)}
    if varied:
        extra["variations"] = json.dumps({name: f.tolist() for name, f in varied.items()})
    checkpoint.save_best(directory / BEST, state.best, extra)


def mend_archive(directory: Path, state: State) -> None:
    """Write the archive of a run that has ended, unless it is there."""
    file = directory / ARCHIVE
    try:
        if os.path.lexists(file) and len(checkpoint.load_archive(file)) == len(state.archive):
            return
    except NewerFormat:
        raise
    except CheckpointRefused as error:
        log.warning("%s It is written again.", error)
    checkpoint.save_archive(file, state.archive)


def has_ended(directory: Path, state: State) -> bool:
    """Whether the ending of this state is on disk; warns about a damaged one."""
    try:
        end = read_ending(directory)
    except NewerFormat:
        raise
    except CheckpointRefused as error:
        log.warning("%s It is written again, from the newest checkpoint.", error)
        return False
    if end is None or not end.returns:
        return False
    return end.generation in (state.generation, UNKNOWN) and end.tests(state.best)
