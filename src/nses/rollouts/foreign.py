"""Code that is not ours: a user's environment, behavior or policy, called with due care."""

import random
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np


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


def seed_global_generators(seed: int) -> None:
    """What `random` and `np.random` give in an episode follows from its seed, as all else does."""
    random.seed(seed)
    np.random.seed(seed & 0xFFFFFFFF)  # noqa: NPY002  (theirs, not ours)


@contextmanager
def generators_kept() -> Iterator[None]:
    """Around episodes in a process that is not ours alone: its global generators are kept."""
    states = random.getstate(), np.random.get_state(legacy=False)  # noqa: NPY002
    try:
        yield
    finally:
        random.setstate(states[0])
        np.random.set_state(states[1])  # noqa: NPY002
