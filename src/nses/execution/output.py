"""Standard output and error. No work depends on them: text that cannot be written is dropped."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO, cast

# Controls (C0 except tab and newline, C1), and marks that change direction or break lines.
OBEYED = [*range(9), *range(11, 32), *range(127, 160), 0x61C, 0x200E, 0x200F, 0x2028, 0x2029]
OBEYED += [*range(0x202A, 0x202F), *range(0x2066, 0x206A)]
_SHOWN = {code: chr(0x2400 + code) if code < 32 else "\ufffd" for code in OBEYED} | {127: "\u2421"}


def visible(text: str) -> str:
    """Foreign text with a visible symbol for every character that a terminal would obey."""
    return text if text.isascii() and text.isprintable() else text.translate(_SHOWN)


class Forgiving:
    """A text stream that goes silent when it fails, and shows ? for what its encoding lacks."""

    def __init__(self, stream: TextIO):
        self.stream = stream
        self.failure: Exception | None = None
        if stream.errors in ("strict", "surrogateescape") and hasattr(stream, "reconfigure"):
            cast(Any, stream).reconfigure(errors="replace")

    def write(self, text: str) -> int:
        self._attempt(lambda: self.stream.write(text))
        return len(text)

    def flush(self) -> None:
        self._attempt(self.stream.flush)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)

    def _attempt(self, action: Callable[[], object]) -> None:
        try:
            action()
        except (OSError, ValueError) as error:  # ValueError: somebody closed it
            self.failure = self.failure or error
            self._silence()

    def _silence(self) -> None:
        """Redirect it to /dev/null: Python complains at exit if its buffer cannot be flushed."""
        try:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.stream.fileno())
            os.close(nowhere)
        except (OSError, ValueError):  # not a file
            pass


def forgive() -> tuple[Forgiving, Forgiving]:
    """Make standard output and error forgiving; if closed, they become /dev/null."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:  # or the next file to be opened would be standard output
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
    out, err = (
        Forgiving(stream or open(descriptor, "w", closefd=False))  # noqa: SIM115  (until the end)
        for descriptor, stream in enumerate((sys.stdout, sys.stderr), start=1)
    )
    sys.stdout, sys.stderr = cast(TextIO, out), cast(TextIO, err)
    return out, err


@contextmanager
def forgiving() -> Iterator[Forgiving]:
    """While active, printing never fails; yields standard output, which knows if it failed."""
    before = sys.stdout, sys.stderr
    out, err = forgive()
    try:
        yield out
    finally:
        out.flush()
        err.flush()
        sys.stdout, sys.stderr = before
