"""What a run writes down generation by generation: metrics.jsonl and TensorBoard events."""

import json
import logging
import math
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any

from nses.core.values import Report
from nses.experiment.storage import write_atomically

log = logging.getLogger("nses")

METRICS = "metrics.jsonl"


def record_of(report: Report, seconds: float, duration: float, env_steps: int) -> dict[str, Any]:
    """One line of metrics.jsonl: the report, seconds of training so far, and speed."""
    record = asdict(report)
    record["seconds"] = round(seconds, 6)
    record["steps_per_second"] = round(env_steps / max(duration, 1e-9), 1)
    return {name: _standard(value) for name, value in record.items()}


def _standard(value: Any) -> Any:
    """JSON has no NaN and no infinity."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def read_metrics(path: Path) -> Iterator[dict[str, Any]]:
    """The lines of a metrics file; a torn last line and the marks of gaps are left out."""
    try:
        text = path.read_text()
    except FileNotFoundError:
        return
    for line in text.splitlines():
        try:
            record = json.loads(line)
        except json.JSONDecodeError:
            continue
        if isinstance(record, dict) and isinstance(record.get("generation"), int):
            yield record


class MetricsLog:
    """Appends to metrics.jsonl, cut back to `generation` first: no generation appears twice.

    A full disk does not stop training: the lines are dropped with a warning, and a line
    {"gap": [first, last]} marks them once there is room again.
    """

    def __init__(self, directory: Path, generation: int):
        self.path = directory / METRICS
        kept = [r for r in read_metrics(self.path) if r["generation"] <= generation]
        self.seconds = float(kept[-1].get("seconds") or 0.0) if kept else 0.0
        write_atomically(self.path, "".join(json.dumps(r) + "\n" for r in kept).encode())
        self.file = self.path.open("ab", buffering=0)
        self.gap: list[int] = []

    def write(self, record: dict[str, Any]) -> None:
        lines = json.dumps(record) + "\n"
        if self.gap:
            lines = json.dumps({"gap": [self.gap[0], self.gap[-1]]}) + "\n" + lines
        data, start = lines.encode(), os.fstat(self.file.fileno()).st_size
        try:
            if self.file.write(data) != len(data):
                raise OSError("the disk took only a part of the line")
        except OSError as error:
            with suppress(OSError):  # a half-written line goes; a device has none
                os.ftruncate(self.file.fileno(), start)
            if not self.gap:
                log.warning("metrics are not being written: %s. Training goes on.", error)
            self.gap.append(record["generation"])
        else:
            if self.gap:
                log.warning(
                    "metrics are written again; generations %d to %d are missing.",
                    self.gap[0], self.gap[-1],
                )  # fmt: skip
            self.gap = []

    def sync(self) -> None:
        os.fsync(self.file.fileno())

    def __enter__(self) -> "MetricsLog":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.file.close()


class TensorBoard:
    """One event per generation with all its numbers, in a thread of its own."""

    def __init__(self, directory: Path, generation: int):
        from tensorboardX import SummaryWriter  # 0.2 s to import

        self.writer = SummaryWriter(
            str(directory / "tensorboard"),
            purge_step=generation + 1 if generation else None,
            flush_secs=10,
        )

    def write(self, record: dict[str, Any]) -> None:
        from tensorboardX.proto.summary_pb2 import Summary  # type: ignore[attr-defined]

        values = [
            Summary.Value(tag=name, simple_value=value)
            for name, value in record.items()
            if isinstance(value, int | float) and name != "generation"
        ]
        self.writer.file_writer.add_summary(Summary(value=values), record["generation"])  # type: ignore[union-attr]

    def close(self) -> None:
        self.writer.close()
