"""The end of a program: its last message, its exit code, and making sure that it really ends."""

import atexit
import contextlib
import os
import sys
import threading
from collections.abc import Callable

from nses.errors import NsesError, Stopped
from nses.execution.output import visible


def outcome(action: Callable[[], int]) -> int:
    """The exit code of an action; an expected error becomes one clear line."""
    try:
        return action()
    except (NsesError, Stopped) as error:
        return failed(error.exit_code, error)
    except KeyboardInterrupt as error:
        return failed(130, error, "stopped by SIGINT")
    except MemoryError as error:
        return failed(2, error, f"out of memory: {error}. Lower --n, --hidden or --workers.")
    except Exception as error:
        import traceback

        print(visible("".join(traceback.format_exception(error))), end="", file=sys.stderr)
        return failed(1, error, f"this is a bug in nses, please report it: {error!r}")


def failed(code: int, error: BaseException, message: str = "") -> int:
    """The code, after printing what went wrong and how to continue (the exception's notes)."""
    for line in (message or str(error), *getattr(error, "__notes__", ())):
        print(visible(f"nses: {line}"), file=sys.stderr)
    return code


_at_once: list[str] = []  # reasons why Python must not end this process its own way


def leave_at_once(why: str) -> None:
    """Asks `leave` not to tear down libraries that would crash."""
    _at_once.append(why)


def leave(code: int) -> int:
    """The code to exit with. If a thread would keep the program alive, it exits here.

    Environments may start threads that never end, and Python would wait for them forever.
    """
    if _at_once or any(not thread.daemon for thread in threading.enumerate() if not _main(thread)):
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError, AttributeError):  # gone, closed or none
                stream.flush()
        os._exit(code)
    return code


def _main(thread: threading.Thread) -> bool:
    return thread is threading.main_thread()
