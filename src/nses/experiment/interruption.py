"""Ctrl-C, SIGTERM and SIGHUP stop at a safe point; a second Ctrl-C stops at once.

In a notebook or an interactive session, stopping at once must not take the session along.
SIGHUP means that the terminal is gone. `nohup` makes a process ignore it, and it stays ignored.
"""

import os
import signal
import sys
import threading
from types import FrameType


class Interruption:
    """While active, these signals set a flag. Only the main thread can handle signals."""

    def __init__(self) -> None:
        self.signum: int | None = None

    def __enter__(self) -> "Interruption":
        self.active = threading.current_thread() is threading.main_thread()
        if self.active:
            hangup = [] if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN else [signal.SIGHUP]
            self.previous = {
                s: signal.signal(s, self._note) for s in (signal.SIGINT, signal.SIGTERM, *hangup)
            }
        return self

    def __exit__(self, *_: object) -> None:
        if self.active:
            for signum, handler in self.previous.items():
                signal.signal(signum, handler)

    def __call__(self) -> bool:
        """Whether to stop."""
        return self.signum is not None

    def _note(self, signum: int, frame: FrameType | None) -> None:
        if signum == signal.SIGINT and self.signum is not None:
            if hasattr(sys, "ps1"):  # interactive
                raise KeyboardInterrupt
            os._exit(128 + signum)
        self.signum = signum
