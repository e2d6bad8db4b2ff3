"""The log of a run as TensorBoard events, one after every generation."""

import logging
import socket
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from nses.experiment.runs.storage import contained

log = logging.getLogger("nses")

TENSORBOARD = "tensorboard"


class TensorBoard:
    """Writes one event per generation, with all its numbers; a full disk ends it with a warning."""

    def __init__(self, directory: Path, generation: int):
        from tensorboardX.proto.event_pb2 import Event, SessionLog  # type: ignore[attr-defined]
        from tensorboardX.record_writer import RecordWriter

        folder = contained(directory, TENSORBOARD)
        name = f"events.out.tfevents.{time.time_ns()}.{socket.gethostname()}"
        self.writer: Any = None
        try:
            folder.mkdir(exist_ok=True)
            self.writer = RecordWriter(str(folder / name))
        except OSError as error:  # a file in its place, for example
            log.warning("TensorBoard events are not written: %s. Training goes on.", error)
        self._put(Event(wall_time=time.time(), file_version="brain.Event:2"))
        if generation:  # events after the checkpoint are void
            start = SessionLog(status=SessionLog.START)
            self._put(Event(wall_time=time.time(), step=generation + 1, session_log=start))

    def write(self, record: dict[str, Any]) -> None:
        from tensorboardX.proto.event_pb2 import Event  # type: ignore[attr-defined]
        from tensorboardX.proto.summary_pb2 import Summary  # type: ignore[attr-defined]

        values = [
            Summary.Value(tag=name, simple_value=value)
            for name, value in record.items()
            if isinstance(value, int | float) and name != "generation"
        ]
        summary = Summary(value=values)
        self._put(Event(wall_time=time.time(), step=record["generation"], summary=summary))

    def _put(self, event: Any) -> None:
        if self.writer is None:
            return
        try:
            self.writer.write(event.SerializeToString())
            self.writer.flush()
        except OSError as error:
            log.warning("TensorBoard events are no longer written: %s.", error)
            self.writer = None

    def close(self) -> None:
        if self.writer is not None:
            with suppress(OSError):  # every event was flushed, or gave a warning
                self.writer.close()
