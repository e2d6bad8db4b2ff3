"""TensorBoard events."""

from pathlib import Path
from typing import Any

import pytest

from nses.experiment.runs.events import TENSORBOARD, TensorBoard


def events_in(directory: Path) -> list[Any]:
    from tensorboardX.proto.event_pb2 import Event  # type: ignore[attr-defined]

    (file,) = (directory / TENSORBOARD).iterdir()
    data, events, position = file.read_bytes(), [], 0
    while position < len(data):  # length (8), its checksum (4), event, its checksum (4)
        size = int.from_bytes(data[position : position + 8], "little")
        events.append(Event.FromString(data[position + 12 : position + 12 + size]))
        position += 16 + size
    return events


def test_an_event_holds_every_number_of_a_generation(tmp_path: Path) -> None:
    board = TensorBoard(tmp_path, 0)
    board.write({"generation": 3, "best": 2.5, "failed": 0, "score": None, "behavior": [1.0, 2.0]})
    board.close()
    (event,) = (event for event in events_in(tmp_path) if event.HasField("summary"))
    assert event.step == 3
    values = {value.tag: value.simple_value for value in event.summary.value}
    assert values == {"best": pytest.approx(2.5), "failed": 0.0}


def test_what_is_beyond_the_checkpoint_is_declared_void(tmp_path: Path) -> None:
    TensorBoard(tmp_path, 7).close()
    (event,) = (event for event in events_in(tmp_path) if event.HasField("session_log"))
    assert event.step == 8
