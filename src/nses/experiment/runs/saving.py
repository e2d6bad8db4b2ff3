"""When the checkpoints of a run are written, and what happens if one cannot be."""

import logging
import time
from pathlib import Path

from nses.core.values import State
from nses.errors import StorageFailed
from nses.experiment.runs import checkpoint
from nses.experiment.settings.config import Config, to_dict

log = logging.getLogger("nses")

MOST_FAILED = 3


class Checkpoints:
    """Writes checkpoints when they are due; a failed one is retried after the next generation."""

    def __init__(self, directory: Path, config: Config):
        self.directory, self.config = directory / checkpoint.DIRECTORY, config
        self.failures = 0
        self.written = time.monotonic()
        self.generation = -1

    def due(self, state: State) -> bool:
        late = time.monotonic() - self.written >= self.config.checkpoint_seconds
        kept = state.generation % self.config.keep_every == 0
        return late or kept or self.failures > 0

    def write(self, state: State) -> None:
        if state.generation == self.generation:
            return
        try:
            checkpoint.save(
                self.directory, state, to_dict(self.config), keep_every=self.config.keep_every
            )
        except OSError as error:
            self.failures += 1
            if self.failures >= MOST_FAILED:
                raise StorageFailed(
                    f"the checkpoint of generation {state.generation} could not be written after "
                    f"{self.failures} attempts: {error}"
                ) from error
            log.warning(
                "the checkpoint of generation %d could not be written (%s); "
                "trying again after the next generation.",
                state.generation, error,
            )  # fmt: skip
            return
        self.failures, self.written, self.generation = 0, time.monotonic(), state.generation

    def insist(self, state: State) -> None:
        """Write until it is on disk, for there is no next generation; else StorageFailed."""
        while self.generation != state.generation:
            self.write(state)
