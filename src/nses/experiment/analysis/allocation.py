"""Where a population spends its updates: on members that have got past the trap, or on others."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nses.core.values import Floats
from nses.experiment.analysis.comparison import goal_of
from nses.experiment.analysis.scenes import scene_of
from nses.experiment.analysis.stories import Story
from nses.experiment.runs.run import Run

WINDOW = 0.05  # of all generations, over which shares are averaged


@dataclass(frozen=True, eq=False)
class Allocation:
    """By generation, over several runs: shares of the last generations' updates and members, (T,).

    A member counts as past the trap from the update after which it ended there.
    """

    generation: Floats
    updates: Floats  # that went to members past the trap
    members: Floats  # that were past it


def trap_end_of(run: Run) -> float | None:
    """The x beyond which a body is past the trap of its task; None if there is no trap."""
    return goal_of(run) if scene_of(run).walls else None


def allocation_of(stories: Sequence[Story], trap_end: float) -> Allocation:
    """The mean over these runs, of those that got so far."""
    generations = np.unique(np.concatenate([story.column("generation") for story in stories]))
    shares = np.full((2, len(stories), len(generations)), np.nan)
    for i, story in enumerate(stories):
        past = [False] * story.run.config.members
        places = np.searchsorted(generations, story.column("generation")).tolist()
        for t, record in zip(places, story.records, strict=True):
            m, b = record["member"], record.get("behavior")
            shares[:, i, t] = past[m], sum(past) / len(past)
            if b and b[0] is not None:
                past[m] = b[0] > trap_end
    window = max(1, round(WINDOW * len(generations)))
    return Allocation(generations, *(_recent(rows, window) for rows in shares))


def _recent(rows: Floats, window: int) -> Floats:
    """The mean over the runs, (runs, T), and over the last `window` generations; NaN if unknown."""
    known = np.isfinite(rows)
    totals = np.cumsum([np.where(known, rows, 0.0).sum(axis=0), known.sum(axis=0)], axis=1)
    before = np.zeros_like(totals)
    before[:, window:] = totals[:, :-window]
    total, count = totals - before
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)
