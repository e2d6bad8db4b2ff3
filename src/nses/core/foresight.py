"""A guess at the next generation, so that those who have nothing to do can begin with it.

It draws no random number of the run and changes no value: with and without it, results are the
same. Returns and behaviors of candidates do not depend on the archive, only their novelty does.
"""

from collections.abc import Callable

from nses.core.selection import SELECTIONS, select
from nses.core.values import Candidates, Floats

Hint = Callable[[], Candidates]  # made when somebody has time for them
Foresee = Callable[[int, Hint], None]  # told a generation and the candidates that it may have


def ignore(t: int, hint: Hint) -> None:
    """The default: nobody looks ahead."""


def likely_next(N: Floats, selection: str, seed: int, t: int) -> int:
    """The member that generation t will probably update, by the novelties N of the one before.

    The random number is known. By then, only the behavior of the last updated member will be
    another, and the archive will have that one more.
    """
    return select(SELECTIONS[selection](N, t), seed, t)
