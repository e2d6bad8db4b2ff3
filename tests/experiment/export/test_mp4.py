"""Video files: written whole or not at all."""

import numpy as np
import pytest

from nses.experiment.export import mp4 as module
from nses.experiment.export.mp4 import mp4
from nses.experiment.runs.storage import StorageFailed

imageio_ffmpeg = pytest.importorskip("imageio_ffmpeg", reason="needs the extra video")


def test_the_error_of_ffmpeg_is_shown_and_the_old_file_stays(tmp_path, monkeypatch):
    path, picture = tmp_path / "a.mp4", np.zeros((16, 16, 3), np.uint8)
    path.write_bytes(b"old")
    program = tmp_path / "ffmpeg"
    program.write_text("#!/bin/sh\necho no room on the disk >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setattr(module, "encoder", lambda: str(program))

    def film_it(pictures):
        with mp4(path, (16, 16), 5) as write:
            for _ in range(pictures):
                write(picture)

    for pictures in (1, 1000):  # it is gone at the end, or before
        with pytest.raises(StorageFailed, match="no room on the disk"):
            film_it(pictures)
    assert sorted(tmp_path.iterdir()) == [path, program]
    assert path.read_bytes() == b"old"


def test_an_interruption_ends_ffmpeg_and_leaves_no_file(tmp_path):

    def film_it():
        with mp4(tmp_path / "a.mp4", (16, 16), 5) as write:
            write(np.zeros((16, 16, 3), np.uint8))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        film_it()
    assert not list(tmp_path.iterdir())
