"""The files of a run at one moment, each read and verified once, when first needed."""

import os
import shlex
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from nses.core.archive import Archive
from nses.core.values import Best, State
from nses.experiment.runs import checkpoint
from nses.experiment.runs.checkpoint import Loaded
from nses.experiment.runs.document import NO_HALT, Halt
from nses.experiment.runs.endings import ARCHIVE, BEST, UNKNOWN, Ending, read_ending
from nses.experiment.runs.formats import NewerFormat
from nses.experiment.runs.log import METRICS, Record, read_metrics, seconds_until
from nses.experiment.runs.storage import CheckpointRefused
from nses.experiment.settings.config import Config
from nses.experiment.settings.stopping import Stop, stop_of


@dataclass(frozen=True, eq=False)
class Snapshot:
    """`Run.look()` gives one."""

    path: Path
    config: Config
    warn: Callable[..., None]  # takes sentences about refused files
    halt: Halt = NO_HALT

    @cached_property
    def records(self) -> list[Record]:
        """The lines of metrics.jsonl."""
        return read_metrics(self.path / METRICS)[0]

    @cached_property
    def loaded(self) -> Loaded | CheckpointRefused:
        """The newest valid checkpoint, or why there is none."""
        try:
            return checkpoint.load(self.path / checkpoint.DIRECTORY)
        except NewerFormat:
            raise
        except CheckpointRefused as error:
            return error

    @property
    def state(self) -> State:
        """The newest valid checkpoint; warns about newer ones that were refused."""
        if isinstance(self.loaded, CheckpointRefused):
            raise self.loaded
        self.warn(*self.loaded.notes)
        return self.loaded.state

    @cached_property
    def ending(self) -> Ending | None:
        """The last ending of the run; None if it has not ended yet, or its file is damaged."""
        try:
            end = read_ending(self.path)
        except NewerFormat:
            raise
        except CheckpointRefused as error:
            again = f"nses resume {shlex.quote(str(self.path))}"
            self.warn(f"{error} '{again}' writes it again, from the newest checkpoint.")
            return None
        if end is None or end.generation != UNKNOWN:
            return end
        try:
            return replace(end, generation=max(end.best.generation, self.state.generation))
        except CheckpointRefused:  # it ended there or later
            return replace(end, generation=end.best.generation)

    @cached_property
    def newest(self) -> State | Ending:
        """The newer of the newest valid checkpoint and the ending; warns about refused ones."""
        end = self.ending
        if end is None:
            return self.state
        loaded = self.loaded
        if isinstance(loaded, Loaded) and loaded.state.generation >= end.generation:
            self.warn(*loaded.notes)
            return loaded.state
        if os.path.lexists(self.path / checkpoint.DIRECTORY):
            self.warn(*_refused(loaded), f"{BEST} of generation {end.generation} is used instead.")
        else:  # perhaps somebody has put the run on record, without what only `resume` needs
            self.warn(f"without checkpoints, {BEST} of generation {end.generation} is used.")
        return end

    @property
    def best(self) -> Best:
        """The policy with the highest score so far."""
        return self.newest.best

    @property
    def retest(self) -> list[float]:
        """Returns of the best policy in fresh episodes; empty until the run has ended."""
        end = self.ending
        return end.returns if end is not None and end.tests(self.best) else []

    @property
    def variations(self) -> dict[str, list[float]]:
        """Returns of the best policy in variations of the task, by name, once the run has ended."""
        end = self.ending
        return end.variations if end is not None and self.retest else {}

    @property
    def finished(self) -> bool:
        """Whether all generations are done, or its settings stopped it, and it is re-tested."""
        end = self.ending
        if end is None or not end.returns:
            return False
        state = self.state
        last = self.config.generations if self.stop is None else state.generation
        return min(end.generation, state.generation) >= last and end.tests(state.best)

    @property
    def stop(self) -> Stop | None:
        """Why it stops before its last generation, as its settings say; None if it does not."""
        state = self.state
        seconds = seconds_until(self.records, state.generation)
        return stop_of(self.config, state.generation, state.best, seconds)

    @property
    def why(self) -> str:
        """Why its settings or a listener stopped it before its last generation, or empty."""
        return self.stop.why if self.stop else self.halt.after(self.state.generation)

    @cached_property
    def archive(self) -> Archive:
        """The behaviors seen so far."""
        loaded = self.loaded
        if isinstance(loaded, Loaded) and not loaded.notes:
            return loaded.state.archive
        last = self._archive_of_the_end()
        if last is None or (isinstance(loaded, Loaded) and len(last) <= len(loaded.state.archive)):
            return self.state.archive
        self.warn(*_refused(loaded), f"{ARCHIVE} is used instead.")
        return last

    def _archive_of_the_end(self) -> Archive | None:
        try:
            return checkpoint.load_archive(self.path / ARCHIVE)
        except CheckpointRefused as error:
            self.warn(str(error))
            return None

    @cached_property
    def digest(self) -> str:
        """SHA-256 of everything that the same seed promises to repeat."""
        state = self.state
        records = (r for r in self.records if r["generation"] <= state.generation)
        return checkpoint.digest(state, records)


def _refused(loaded: Loaded | CheckpointRefused) -> list[str]:
    """Why the newest checkpoint is not used."""
    if isinstance(loaded, CheckpointRefused):
        return [str(loaded)]
    older = f"The newest checkpoint is that of generation {loaded.state.generation}."
    return list(loaded.notes[:-1]) or [older]  # the last note says what is used instead
