"""Writes pictures to a video file that browsers play, with the ffmpeg of the extra `video`."""

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryFile

import numpy as np
from numpy.typing import NDArray

from nses.experiment.runs.storage import StorageFailed, replacing
from nses.extras import needing

Picture = NDArray[np.uint8]  # (height, width, 3)

QUALITY = 20  # constant rate factor: 0 is lossless, 51 is the worst


def encoder() -> str:
    """Where ffmpeg is; UsageError without the extra."""
    with needing("video", "a video"):
        from imageio_ffmpeg import get_ffmpeg_exe

        try:
            return get_ffmpeg_exe()
        except RuntimeError as error:  # the package is installed without its program
            raise ImportError(error) from error


@contextmanager
def mp4(path: Path, size: tuple[int, int], fps: float) -> Iterator[Callable[[Picture], None]]:
    """A function that takes pictures of this (width, height), both even; the file comes at the end.

    If anything fails, there is no file.
    """
    width, height = size
    assert width % 2 == height % 2 == 0  # yuv420p halves them
    with replacing(path) as temporary, TemporaryFile() as said:

        def failed() -> StorageFailed:
            said.seek(0)
            words = said.read().decode(errors="replace").strip()
            return StorageFailed(f"could not write {path}; ffmpeg says: {words or 'nothing'}.")

        # Not imageio_ffmpeg.write_frames: it ignores ffmpeg's exit code, and so truncated files.
        process = subprocess.Popen(
            _command(temporary, size, fps),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=said,
            start_new_session=True,  # Ctrl-C reaches only us, and we end it
        )
        assert process.stdin is not None
        pipe = process.stdin

        def write(picture: Picture) -> None:
            assert picture.shape == (height, width, 3)
            try:
                pipe.write(np.ascontiguousarray(picture).data)
            except OSError:  # ffmpeg has ended
                process.wait()
                raise failed() from None

        try:
            yield write
            with suppress(OSError):
                pipe.close()
            if process.wait():
                raise failed()
        finally:
            process.kill()  # does nothing if it has ended
            process.wait()
            with suppress(OSError):
                pipe.close()


def _command(path: Path, size: tuple[int, int], fps: float) -> list[str]:
    """ffmpeg, from raw pictures on its standard input to a file."""
    return [
        *(encoder(), "-hide_banner", "-loglevel", "error", "-y"),
        *("-f", "rawvideo", "-pix_fmt", "rgb24", "-s", "{}x{}".format(*size)),
        *("-r", str(Fraction(fps).limit_denominator(1000)), "-i", "-", "-an"),
        *("-c:v", "libx264", "-crf", str(QUALITY), "-pix_fmt", "yuv420p"),
        *("-movflags", "+faststart", "-f", "mp4", os.path.abspath(path)),
    ]
