"""What is random in an Atari game: the number of no-ops at the start, and actions that stick."""

from dataclasses import dataclass, replace
from itertools import count

import numpy as np

from nses.errors import UsageError

NOOPS = 30  # raw frames before an episode, at most
STICKY = 0.25  # from Machado et al. 2018
MOST_STARTS = 1000  # beyond which starts are not listed


@dataclass(frozen=True)
class Chance:
    """What is random in an episode: how many no-ops it begins with, and which actions stick.

    Without sticky actions the no-ops decide everything: each number of them makes one episode.
    """

    noops: int = NOOPS  # at most
    least_noops: int = 1
    sticky: float = 0.0  # the probability that a frame repeats the previous action

    def __post_init__(self) -> None:
        if not isinstance(self.noops, int) or self.noops < 1:
            raise UsageError(f"noops must be a whole number of at least 1, got {self.noops!r}.")
        if not isinstance(self.least_noops, int) or not 1 <= self.least_noops <= self.noops:
            raise UsageError(
                f"least_noops must be a whole number from 1 to noops, which is {self.noops}, "
                f"got {self.least_noops!r}."
            )
        if not isinstance(self.sticky, int | float) or not 0 <= self.sticky < 1:
            raise UsageError(f"sticky must be at least 0 and less than 1, got {self.sticky!r}.")

    def draw(self, rng: np.random.Generator) -> int:
        """How many no-ops an episode begins with."""
        return self.least_noops + int(rng.integers(self.noops - self.least_noops + 1))

    def starts(self) -> tuple[int, ...]:
        """A seed for each number of no-ops, the fewest first; none if actions stick."""
        wanted = self.noops - self.least_noops + 1
        if self.sticky or wanted > MOST_STARTS:
            return ()
        found: dict[int, int] = {}
        for seed in count():
            found.setdefault(self.draw(rng_of(seed)), seed)
            if len(found) == wanted:
                return tuple(found[noops] for noops in sorted(found))
        raise AssertionError("every number of no-ops is drawn sooner or later")

    def variations(self) -> dict[str, "Chance"]:
        """Versions of the game that would defeat an agent which has learned it by heart."""
        if self.sticky or self.least_noops > 1:
            return {}
        later = Chance(2 * self.noops, self.noops + 1)
        return {
            f"sticky actions {STICKY}": replace(self, sticky=STICKY),
            f"no-ops {later.least_noops}-{later.noops}": later,
        }


def rng_of(seed: int) -> np.random.Generator:
    """The generator that gymnasium.Env.reset(seed) makes."""
    return np.random.Generator(np.random.PCG64(seed))


USUAL = Chance()  # as in the paper
