"""Collecting runs to compare: those whose files make sense, and why others are left out."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from nses.experiment.analysis.comparison import goal_of
from nses.experiment.analysis.scenes import scene_of
from nses.experiment.analysis.stories import Story, directories_in, story_of
from nses.experiment.runs.endings import read_ending
from nses.experiment.runs.log import Record
from nses.experiment.runs.run import Run, load
from nses.experiment.runs.storage import CheckpointRefused

LARGEST = 1e100  # of the numbers shown; its square is still finite
LONGEST_REASON = 500  # characters
SHOWN = (
    *("score", "best", "return_mean", "weight", "novelty_mean", "archive_size"),
    *("episodes", "env_steps", "seconds", "steps_per_second"),
)


@dataclass(frozen=True)
class LeftOut:
    """A run that is left out, and why."""

    directory: str
    reason: str

    def __str__(self) -> str:
        return f"{self.directory}: {self.reason}"


def gathered(paths: Iterable[str | Path]) -> tuple[list[Story], list[LeftOut]]:
    """The runs in and below these directories, each once; CheckpointRefused if all are bad."""
    stories, left_out = [], []
    for directory in directories_in(paths):
        try:
            story = story_of(load(directory))
            refuse_odd(story)
            goal_of(story.run)
            scene_of(story.run)
            stories.append(story)
        except Exception as error:  # other people's files may hold anything
            left_out.append(LeftOut(str(directory), reason_of(error, directory)))
    if not stories:
        raise CheckpointRefused("\n".join(map(str, left_out)))
    return stories, left_out


def reason_of(error: Exception, directory: str | Path) -> str:
    """The message, shortened and without the name of the directory."""
    words = str(error).replace(f"{directory}{os.sep}", "") or type(error).__name__
    return words if len(words) <= LONGEST_REASON else words[:LONGEST_REASON] + " …"


def refuse_odd(story: Story) -> None:
    """CheckpointRefused if a run holds a number that training cannot have written."""
    refuse_odd_records(story.run, story.records)
    ending = story.ending or read_ending(story.run.path)  # raises if it is damaged
    if ending is not None:
        varied = [x for returns in ending.variations.values() for x in returns]
        numbers = [x for x in (ending.best.score, *ending.returns, *varied) if np.isfinite(x)]
        _refuse_large(numbers, "its re-test")


def refuse_odd_records(run: Run, records: list[Record]) -> None:
    """Check that the lines of metrics.jsonl are in order and fit this run."""
    size, members, before = run.facts.behavior_size, run.config.members, 0
    for record in records:
        generation = record["generation"]
        behavior, selection = record.get("behavior") or [], record.get("selection") or []
        if generation <= before:
            raise CheckpointRefused(f"generation {generation} comes after generation {before}")
        if len(behavior) not in (0, size):
            raise CheckpointRefused(
                f"generation {generation} has a behavior of {len(behavior)} numbers "
                f"instead of {size}"
            )
        if record["member"] >= members or len(selection) > members:
            raise CheckpointRefused(f"generation {generation} has more members than the run")
        numbers = [*map(record.get, SHOWN), *behavior, *selection]
        _refuse_large([x for x in numbers if x is not None], f"generation {generation}")
        before = generation


def _refuse_large(numbers: list[float], where: str) -> None:
    largest = max(map(abs, numbers), default=0.0)
    if largest > LARGEST:
        raise CheckpointRefused(f"{where} has the number {largest:.3g}, which is above {LARGEST:g}")
