"""Foreign code: a user's environment, behavior or policy, and how to call it safely."""

import random
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np


class Interrupted(BaseException):
    """The user asked to stop; the episodes under way are abandoned.

    Not an Exception, so that code which retries after errors does not catch it.
    """


class Quit(RuntimeError):
    """Foreign code raised an exception that would have ended the whole program."""


class errors_only:  # noqa: N801 - used like a function; a generator would cost every episode 1 µs
    """Lets foreign code fail but not end the program: `sys.exit` becomes an ordinary error.

    So does any BaseException that a library defines. Ctrl-C still works.
    """

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None and not isinstance(error, Exception | KeyboardInterrupt | Interrupted):
            raise Quit(f"the environment raised {type(error).__name__}: {error}") from error


def seed_global_generators(seed: int) -> None:
    """Seed `random` and `np.random`, so that they too depend only on the episode's seed."""
    random.seed(seed)
    np.random.seed(seed & 0xFFFFFFFF)  # noqa: NPY002  (theirs, not ours)


@contextmanager
def generators_kept() -> Iterator[None]:
    """Restores the global generators after episodes in a process that belongs to the user."""
    states = random.getstate(), np.random.get_state(legacy=False)  # noqa: NPY002
    try:
        yield
    finally:
        random.setstate(states[0])
        np.random.set_state(states[1])  # noqa: NPY002
