"""Code that is not ours: a user's environment, behavior or policy, called with due care."""

from collections.abc import Iterator
from contextlib import contextmanager


class Interrupted(BaseException):
    """The user asked to stop; what is under way is given up.

    Not an Exception: who retries after errors does not mean this.
    """


class Quit(RuntimeError):
    """Foreign code raised what would have ended the whole program."""


@contextmanager
def errors_only() -> Iterator[None]:
    """Foreign code may fail, but not end the program: `sys.exit` becomes an error like any other.

    Some libraries raise a BaseException of their own, too. Ctrl-C is still Ctrl-C.
    """
    try:
        yield
    except (Exception, KeyboardInterrupt, Interrupted):
        raise
    except BaseException as error:
        raise Quit(f"the environment raised {type(error).__name__}: {error}") from error
