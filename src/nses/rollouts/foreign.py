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


@contextmanager
def errors_only() -> Iterator[None]:
    """Foreign code may fail but not end the program: `sys.exit` becomes an ordinary error.

    So does any BaseException that a library defines. Ctrl-C still works.
    """
    try:
        yield
    except (Exception, KeyboardInterrupt, Interrupted):
        raise
    except BaseException as error:
        raise Quit(f"the environment raised {type(error).__name__}: {error}") from error


def seed_global_generators(seed: int) -> None:
    """Seed `random` and `np.random`, so that they too depend only on the episode's seed."""
    random.seed(seed)
    np.random.seed(seed & 0xFFFFFFFF)  # noqa: NPY002  (theirs, not ours)


@contextmanager
def generators_kept() -> Iterator[None]:
    """Restores the global generators after episodes in a process that we share with a user."""
    states = random.getstate(), np.random.get_state(legacy=False)  # noqa: NPY002
    try:
        yield
    finally:
        random.setstate(states[0])
        np.random.set_state(states[1])  # noqa: NPY002
