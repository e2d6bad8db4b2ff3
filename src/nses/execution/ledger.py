"""Who plays which candidates of a job, and what came back: bookkeeping without sockets or clocks.

Whatever order answers, deaths and late answers come in, each candidate gets exactly one result.
"""

import logging
from collections import Counter, deque
from collections.abc import Collection, Iterable, Iterator, Mapping

from nses.errors import TooManyFailures

log = logging.getLogger("nses")

UNIT = 64  # candidates, at most
ATTEMPTS = 3
AWAKE = 1.0  # seconds: a longer pause between two looks counts as no more than this


class Unfit(TooManyFailures):
    """Workers die or hang without playing anything: it is this machine's fault, no candidate's."""


class Holder:
    """Whoever plays units: what it has been given, and how long it has been silent."""

    def __init__(self, name: str, slot: int):
        self.name, self.slot = name, slot
        self.ready = False
        self.units: deque[range] = deque()
        self.reserved: deque[range] = deque()  # units that it has played before it was asked
        self.ahead = False  # whether it is looking ahead, instead of playing units
        self.played = -1
        self.silent = 0.0  # seconds without a sign of progress

    def overdue(self, played: int, passed: float, deadline: float) -> bool:
        """Whether it has shown no progress for too long, `passed` seconds after the last look.

        `played` counts the episodes it has started.
        """
        waits = self.ready and not self.units and not self.ahead
        if played != self.played or waits:
            self.played, self.silent = played, 0.0
        self.silent += min(passed, AWAKE)  # however long we were stopped (Ctrl-Z), so was it
        return self.silent > deadline


class Ledger:
    """What is left of n candidates: units to hand out, and how often each one lost its holder."""

    def __init__(self, n: int = 0):
        self.open: set[int] = set()  # candidates without a result
        self.pending: deque[range] = deque()
        self.deaths: Counter[int] = Counter()  # by candidate, or by -1 - slot if none is to blame
        self.blamed: list[int] = []  # candidates, since somebody last asked
        self.restarts = 0
        self.add(units_of(n))

    def add(self, units: Iterable[range]) -> None:
        """Adds units to be played."""
        for unit in units:
            self.open.update(unit)
            self.pending.append(unit)

    def reserve(self, holder: Holder, unit: range) -> None:
        """Adds a unit that the holder should play, as long as it lives."""
        self.open.update(unit)
        holder.reserved.append(unit)

    def remember(self, deaths: Mapping[int, int]) -> None:
        """Takes over how often these candidates have killed, here or elsewhere."""
        for i, times in deaths.items():
            self.deaths[i] = max(self.deaths[i], times)

    def drop(self, indices: Iterable[int]) -> None:
        """Forgets candidates that have a result from elsewhere."""
        self.open.difference_update(indices)
        if not self.open:
            self.pending.clear()

    def take(self, holder: Holder) -> range | None:
        """The next unit, which now belongs to the holder; None if none is left."""
        for units in (holder.reserved, self.pending):
            while units:
                unit = units.popleft()
                if not self.open.isdisjoint(unit):  # a late answer may have settled it
                    holder.units.append(unit)
                    return unit
        return None

    def accept(self, holder: Holder, unit: range) -> list[int]:
        """The candidates of a finished unit for which this is the first result, the one to keep.

        The holder may have been given up in the meantime; a late answer is still an answer.
        """
        if unit in holder.units:
            holder.units.remove(unit)
        first = [i for i in unit if i in self.open]
        self.open.difference_update(first)
        return first

    def lost(
        self, holder: Holder, playing: int, reason: str | None, finished: Collection[int] = ()
    ) -> int | None:
        """Takes back what a dead or hung holder had not finished, to be handed out next.

        `playing` is the candidate it was playing, or -1; `reason` says why it died, None means that
        it hung. Returns the candidate that has now killed too many holders, if there is one: it
        fails alone. Raises TooManyFailures if the last attempt was a hang, Unfit if it was no
        candidate's fault. A holder that was looking ahead blames nobody.
        """
        self.pending.extend(holder.reserved)
        holder.reserved.clear()
        held = [i for unit in holder.units for i in unit]
        holder.units.clear()
        self.open.difference_update(set(held).intersection(finished))
        exhausted = self._blame(holder, playing if playing in held else None, reason)
        # One at a time, so that another death takes no other candidate with it.
        again = [i for i in held if i in self.open]
        failed = playing if exhausted and playing in again else None
        if failed is not None:
            again.remove(failed)
            self.open.remove(failed)
        self.pending.extendleft(range(i, i + 1) for i in reversed(again))
        return failed

    def _blame(self, holder: Holder, culprit: int | None, reason: str | None) -> bool:
        """Whether this was the last attempt."""
        cause = -1 - holder.slot if culprit is None else culprit
        otherwise = "between candidates" if holder.ready else "starting"
        otherwise = "looking ahead" if holder.ahead else otherwise
        where = otherwise if culprit is None else f"playing candidate {culprit}"
        what = f"hung for {holder.silent:.3g} s" if reason is None else f"died ({reason})"
        log.warning("%s %s while %s.", holder.name, what, where)
        self.restarts += 1
        if holder.ahead:
            return False
        self.deaths[cause] += 1
        self.blamed += [] if culprit is None else [culprit]
        exhausted = self.deaths[cause] >= ATTEMPTS
        if exhausted and (reason is None or culprit is None):
            kind = Unfit if culprit is None else TooManyFailures
            raise kind(f"worker after worker {what} while {where} ({ATTEMPTS} times)")
        return exhausted


def units_of(n: int) -> Iterator[range]:
    """Large units first, so that there are few; then small ones, so that all workers end together.

    Pairs stay together, and the boundaries depend on n alone.
    """
    start = 0
    while start < n:
        size = max(2, min(UNIT, (n - start) // 32 * 2))
        yield range(start, min(n, start + size))
        start += size
