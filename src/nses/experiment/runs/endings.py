"""The end of a run: its archive, then its best policy with the re-test, which marks it as ended."""

import json
import logging
import math
import os
from dataclasses import dataclass
from pathlib import Path

from nses.core.values import Best, Evaluation, State
from nses.experiment.runs import checkpoint
from nses.experiment.runs.formats import NewerFormat
from nses.experiment.runs.storage import CheckpointRefused

log = logging.getLogger("nses")

BEST = "best.safetensors"
ARCHIVE = "archive.safetensors"
UNKNOWN = -1  # generation of an ending that was written before it was said: S7


@dataclass(frozen=True, eq=False)
class Ending:
    """The best policy of a run after so many generations, and its returns in fresh episodes.

    An episode that failed has no return.
    """

    best: Best
    returns: list[float]
    generation: int

    def tests(self, best: Best) -> bool:
        """Whether the returns are of this policy: a run that went on may have a better one."""
        return (self.best.generation, self.best.member) == (best.generation, best.member)


def read_ending(directory: Path) -> Ending | None:
    """What was written when a run ended last, None if it has not; CheckpointRefused if damaged."""
    file = directory / BEST
    if not os.path.lexists(file):
        return None
    best, extra = checkpoint.load_best(file)
    try:
        returns = [float(x) for x in json.loads(extra["retest"])]
        generation = max(UNKNOWN, int(extra.get("generation", UNKNOWN)))
    except (KeyError, TypeError, ValueError, OverflowError, RecursionError) as error:
        raise CheckpointRefused(f"{file} was refused: it holds no test ({error}).") from error
    return Ending(best, [x for x in returns if math.isfinite(x)], generation)


def write_ending(directory: Path, state: State, tested: Evaluation) -> None:
    """What users look for at the end. The best policy comes last: a run that has it has ended."""
    checkpoint.save_archive(directory / ARCHIVE, state.archive)
    returns = json.dumps([float(x) for x in tested.f])
    extra = {"retest": returns, "generation": str(state.generation)}
    checkpoint.save_best(directory / BEST, state.best, extra)


def mend_archive(directory: Path, state: State) -> None:
    """The archive of a run that has ended, unless it is there."""
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
    """Whether the end of a run is on disk, that of this state; a damaged one is said to be so."""
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
