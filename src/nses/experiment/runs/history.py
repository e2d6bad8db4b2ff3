"""history.jsonl: returns and novelties of all candidates, from which all policies can be rebuilt.

The noise comes from the seed, so theta_{t+1} is a function of theta_t, f, N and w: two numbers per
candidate preserve every policy that a run ever had (`replay.py`). With a shifted training reward,
theta_{t+1} depends on the lengths of the episodes too.
"""

import base64
import binascii
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nses.core.moments import Moments, nothing
from nses.core.values import Evaluation, Floats, Report
from nses.experiment.runs.encoding import canonical, sha256
from nses.experiment.runs.log import read_generations
from nses.experiment.runs.storage import CheckpointRefused

HISTORY = "history.jsonl"
MOST_STEPS = 10**9  # of an episode
SEAL = "sha256"  # the first digits, per line: one flipped bit would give another policy


@dataclass(frozen=True, eq=False)
class Line:
    """Generation t + 1: the updated member, and what updated it. f and N are exact, (n,).

    n is larger than in the settings where a generation needed more candidates for its steps.
    """

    generation: int
    member: int
    weight: float
    f: Floats
    N: Floats
    moments: Moments  # of the observations that were added
    lengths: NDArray[np.int64]  # (n,); 0 where nothing depends on them

    @property
    def evaluation(self) -> Evaluation:
        return Evaluation(self.f, self.N, self.lengths, self.moments)


def line_of(report: Report) -> dict[str, Any]:
    """A generation for JSON; arrays are the bytes of float64, so that nothing is rounded."""
    e = report.evaluation
    line: dict[str, Any] = {
        "generation": report.generation,
        "member": report.member,
        "weight": report.weight,
        "f": _text(e.f),
        "N": _text(e.N),
    }
    if report.training_mean is not None:
        line["lengths"] = _text(e.lengths.astype(np.float64))
    if e.moments.count:
        line["count"] = e.moments.count
        line["sum"], line["square"] = _text(e.moments.sum), _text(e.moments.square)
    return line | {SEAL: _seal(line)}


def read_history(
    path: Path,
    members: int,
    n: int,
    moments_size: int,
    at_most: int,
    or_more: bool = False,
    lengths: bool = False,
) -> Iterator[Line]:
    """The lines up to a generation, of n candidates each; CheckpointRefused names a damaged one.

    `or_more` allows for more candidates, and `lengths` asks for those of their episodes.
    """
    for record in read_generations(path):
        generation = record["generation"]
        if generation > at_most:
            continue
        try:
            if not 0 <= record["member"] < members:
                raise ValueError(f"there is no member {record['member']}")
            observed = nothing(moments_size)
            if "count" in record:
                sums = (_numbers(record[name], moments_size) for name in ("sum", "square"))
                observed = Moments(float(record["count"]), *sums)
            f = _numbers(record["f"])
            if f.size != n and not (or_more and f.size > n and f.size % 2 == 0):
                raise ValueError(f"it has {f.size} candidates instead of {n}")
            N = _numbers(record["N"], f.size)
            steps = _counts(record["lengths"] if lengths else None, f.size)
            if record.get(SEAL, "") not in ("", _seal(record)):  # older runs have none
                raise ValueError("SHA-256 differs")
            yield Line(
                int(generation),
                int(record["member"]),
                float(record["weight"]),
                f,
                N,
                observed,
                steps,
            )
        except (KeyError, TypeError, ValueError, binascii.Error) as error:
            raise CheckpointRefused(
                f"generation {generation} in {path} is damaged: {error}"
            ) from error


def _seal(line: dict[str, Any]) -> str:
    return sha256(canonical({name: x for name, x in line.items() if name != SEAL}))[:16]


def _text(x: NDArray[np.float64]) -> str:
    return base64.b64encode(np.ascontiguousarray(x, "<f8").tobytes()).decode()


def _counts(text: str | None, size: int) -> NDArray[np.int64]:
    """Steps of episodes; 0 each if there is no text."""
    x = np.zeros(size) if text is None else _numbers(text, size)
    if not ((x >= 0) & (x <= MOST_STEPS)).all():
        raise ValueError("an episode has an impossible length")
    return x.astype(np.int64)


def _numbers(text: str, size: int | None = None) -> Floats:
    x = np.frombuffer(base64.b64decode(text, validate=True), "<f8").astype(np.float64)
    if size is not None and x.size != size:
        raise ValueError(f"it has {x.size} numbers instead of {size}")
    return x
