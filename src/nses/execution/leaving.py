"""The end of a program that ran code of others."""

import atexit
import contextlib
import os
import sys
import threading


def leave(code: int) -> int:
    """The exit code, to exit with; but where a thread would keep the program alive, it ends here.

    Environments may start threads that nobody ends, and Python would wait for them for ever.
    """
    if any(not thread.daemon for thread in threading.enumerate() if not _main(thread)):
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError, AttributeError):  # gone, closed or none
                stream.flush()
        os._exit(code)
    return code


def _main(thread: threading.Thread) -> bool:
    return thread is threading.main_thread()
