"""Extras: optional dependencies, and the error raised when one is missing."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from nses.errors import UsageError

# Each extra, with a module that it installs.
EXTRAS = {
    "atari": "ale_py",
    "ray": "ray",
    "dashboard": "dash",
    "video": "imageio_ffmpeg",
    "tensorboard": "tensorboard",
    "onnx": "onnxruntime",
    "torch": "torch",
}


def installing(extra: str) -> str:
    """The command that installs an extra."""
    return f"pip install 'nses[{extra}]'"


def is_installed(extra: str) -> bool:
    return find_spec(EXTRAS[extra]) is not None


@contextmanager
def needing(extra: str, what: str) -> Iterator[None]:
    """Wraps the imports that need an extra: UsageError if it is not installed."""
    try:
        yield
    except ImportError as error:
        raise UsageError(
            f"{what} needs the extra {extra!r}: {installing(extra)} ({error})."
        ) from None
