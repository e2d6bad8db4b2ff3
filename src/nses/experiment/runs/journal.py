"""All that a run writes down of its generations, in one place."""

import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from nses.core.values import Report, State
from nses.experiment.runs.events import TensorBoard
from nses.experiment.runs.history import HISTORY, line_of
from nses.experiment.runs.log import METRICS, GenerationLog, record_of


class Journal:
    """Owns the logs of a run, which go on from `state`, and the clock of its training."""

    def __init__(self, directory: Path, state: State, tensorboard: bool):
        self.events: TensorBoard | None = None
        with ExitStack() as stack:
            self.metrics = stack.enter_context(GenerationLog(directory / METRICS, state.generation))
            self.history = stack.enter_context(GenerationLog(directory / HISTORY, state.generation))
            if tensorboard:
                self.events = TensorBoard(directory, state.generation)
                stack.callback(self.events.close)
            self.files = stack.pop_all()
        self.seconds, self.env_steps = self.metrics.seconds, state.env_steps
        self.written = time.monotonic()

    def write(self, state: State, report: Report) -> dict[str, Any]:
        """The generation that led to `state`, everywhere; returns its line of metrics.jsonl."""
        now = time.monotonic()
        duration, env_steps = now - self.written, state.env_steps - self.env_steps
        self.seconds += duration
        self.written, self.env_steps = now, state.env_steps
        record = record_of(report, self.seconds, duration, env_steps)
        self.metrics.write(record)
        self.history.write(line_of(report))
        if self.events:
            self.events.write(record)
        return record

    def sync(self) -> None:
        """What was written, on the disk: a checkpoint is never newer than its logs."""
        self.metrics.sync()
        self.history.sync()

    def __enter__(self) -> "Journal":
        return self

    def __exit__(self, *_: object) -> None:
        self.files.close()
