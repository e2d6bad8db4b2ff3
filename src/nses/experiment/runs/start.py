"""The policy of another run that a run begins with, kept in its own directory.

The other run may go on, move or vanish afterwards: this one repeats and resumes all the same.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from nses.core.values import Best, Start
from nses.errors import UsageError
from nses.experiment.runs import checkpoint
from nses.experiment.runs.document import spaces_of
from nses.experiment.runs.storage import CheckpointRefused
from nses.experiment.settings.config import Config
from nses.rollouts.tasks.task import Facts

if TYPE_CHECKING:
    from nses.experiment.runs.run import Run

START = "start.safetensors"
# Settings that decide what parameters mean.
NETWORK = ("network", "policy_class", "hidden", "activation", "normalize")
LONGEST_TEXT = 2000  # characters that are shown of what a file says


@dataclass(frozen=True, eq=False)
class Origin:
    """Where a run began: a policy of another run, and the digest of that run at the time."""

    policy: Start
    run: str
    which: str
    digest: str

    def __str__(self) -> str:
        return f"{self.which} of {self.run}, whose digest was {self.digest}"


def place_of(text: str) -> tuple[str, str]:
    """RUN or RUN:POLICY as a directory and the name of a policy, which is best if not given."""
    if Path(text).is_dir():  # its name may have a colon
        return text, "best"
    directory, _, which = text.partition(":")
    return directory, which or "best"


def check_fit(source: "Run", config: Config, facts: Facts, own_policy: str) -> None:
    """UsageError unless the policies of a run mean the same in one with these settings."""
    there, here = spaces_of(source.facts), spaces_of(facts)
    pairs = {f"{name} space": (there[name], here[name]) for name in ("observation", "action")}
    if not own_policy:
        pairs |= {name: (getattr(source.config, name), getattr(config, name)) for name in NETWORK}
    pairs["policy"] = (source.own_policy or "built-in", own_policy or "built-in")
    lines = [f"{name}: {a!r} there, {b!r} here" for name, (a, b) in pairs.items() if a != b]
    if lines:
        raise UsageError(
            f"this run cannot start from {source.path}:\n  " + "\n  ".join(lines) + "\n"
            "Give the same network and a task with the same spaces."
        )


def keep_start(directory: Path, source: "Run", which: str) -> None:
    """Copy a policy of another run into a run directory."""
    theta, moments = source.parameters(which)
    said = {"run": str(source.path), "policy": which, "digest": _digest(source)}
    checkpoint.save_best(directory / START, Best(theta, moments, np.empty(0)), said)


def read_start(directory: Path) -> Origin:
    """What `keep_start` has copied; CheckpointRefused if that is missing or damaged."""
    best, said = checkpoint.load_best(directory / START)
    run, which, digest = (
        said.get(name, "unknown")[:LONGEST_TEXT] for name in ("run", "policy", "digest")
    )
    if best.moments.sum.shape != best.moments.square.shape:
        raise CheckpointRefused(f"{directory / START} was refused: its moments do not match.")
    return Origin(Start(best.theta, best.moments), run, which, digest)


def _digest(source: "Run") -> str:
    try:
        return source.digest
    except CheckpointRefused:  # its best policy has outlived its checkpoints
        return "unknown"
